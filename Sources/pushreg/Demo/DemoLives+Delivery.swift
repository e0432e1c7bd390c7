import Foundation
import RegistryCore

extension DemoLives {
    /// One delivery from the first launch of the app to the swipe, told by the client that apps link.
    func deliveryOnAPhone() async throws {
        try title("6. A delivery on a phone: the app follows its type with RegistryClient, which makes these calls.")
        guard let address = URL(string: service.base) else { return }
        let (order, id, startToken) = (id("delivery"), id("activity"), tokenBytes())
        let phone = DemoPhone(activity: id, order: order, startToken: startToken)
        let client = DemoClient(service: service, address: address)
        client.start(on: phone)
        try await client.makes("PUT", "start-tokens/\(DemoPhone.type)")
        try say("a sender may start an activity on this phone by push")
        try await starts(phone, client)
        try await rotatesInTunnel(phone, client)
        phone.swipes()
        try await client.makes("DELETE", "activities/\(id)")
        try expect(try await resolve(phone) == [], "the user has swiped it away: nothing is handed out any more")
    }

    private func starts(_ phone: DemoPhone, _ client: DemoClient) async throws {
        let token = tokenBytes()
        phone.begins(token)
        try await client.makes("PUT", "activities/\(phone.id)")
        try expect(try await resolve(phone) == [hexadecimal(token)], "the push has started it, and its token is there")
    }

    private func rotatesInTunnel(_ phone: DemoPhone, _ client: DemoClient) async throws {
        client.tunnel(true)
        let token = tokenBytes()
        for next in [tokenBytes(), token] {
            phone.rotates(next)
            try await client.makes("PUT", "activities/\(phone.id)", isTaken: false)
        }
        try say(
            "in a tunnel iOS gives it two other tokens, and nobody answers: the client keeps the last one in its file"
        )
        client.tunnel(false)
        phone.comesToForeground()
        try await client.makes("PUT", "activities/\(phone.id)")
        try expect(try await resolve(phone) == [hexadecimal(token)], "after it the last one is told")
    }

    private func resolve(_ phone: DemoPhone) async throws -> [JSONValue] {
        try await resolve("aliases/liveactivityId/\(phone.order)/activities")
    }

    private func tokenBytes() -> Data { Data((0..<80).map { _ in UInt8.random(in: .min ... .max) }) }
    private func hexadecimal(_ token: Data) -> JSONValue { .string(Hexadecimal.encode(Array(token))) }
}
