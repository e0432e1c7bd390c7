import HTTPTypes
import RegistryCore
import TestSupport
import Testing

@testable import RegistryServer

/// Quotas of a publishable key, which every copy of the app contains.
@Suite(.timeLimit(.minutes(5))) struct PublishableKeyTests {
    private static let rate = HTTPField.Name("RateLimit")!
    private static let key = Principal(role: .client, who: "prc_1")

    private static func limits(_ clock: ManualClock) -> RateLimits {
        var configuration = ServerConfiguration()
        configuration.keyRate = RateLimit(rate: 2)
        configuration.addressRate = nil
        return RateLimits(configuration, clock: clock.clock)
    }

    @Test func `Networks and installations have allowances of their own`() throws {
        let limits = Self.limits(ManualClock())
        func count(_ address: String?, _ installation: String?) -> Bool {
            let network = address.flatMap(CallerNetwork.of)
            return
                (try? limits.count(
                    Self.key,
                    Caller(network: network, installation: installation.map { Array($0.utf8) })
                )) != nil
        }
        for _ in 0..<4 { #expect(count("9.9.9.9", nil)) }
        #expect(!count("9.9.9.9", nil) && !count("9.9.9.9", "phone"))
        for _ in 0..<4 { #expect(count("9.9.9.8", "phone")) }
        #expect(!count("9.9.9.7", "phone"))
        #expect(count("9.9.9.7", "another"))
        // A user or a key of another role has a single quota.
        for principal in [
            Principal(role: .sender, who: "prs_1"), Principal(role: .client, who: "user:u", subject: "u"),
        ] {
            for number in 0..<4 {
                #expect(throws: Never.self) { try limits.count(principal, Caller(network: .of("8.8.8.\(number)"))) }
            }
            #expect(throws: RateLimited.self) { try limits.count(principal, Caller(network: .of("8.8.8.8"))) }
        }
    }

    @Test func `Refused requests do not use the allowance of the key`() throws {
        let limits = Self.limits(ManualClock())
        for number in 0..<100 {
            let caller = Caller(network: .of("9.9.9.\(number)"))
            try limits.count(Self.key, caller).giveBack()
        }
        for number in 0..<40 {
            #expect(throws: Never.self) { try limits.count(Self.key, Caller(network: .of("9.9.8.\(number)"))) }
        }
        let refused = #expect(throws: RateLimited.self) { try limits.count(Self.key, Caller(network: .of("9.9.7.7"))) }
        #expect(refused?.quota.rule.field == "\"key\";q=40;w=2")
    }

    /// Half of the requests take the direct path, half the usual path.
    @Test(.timedService { $0.keyRate = RateLimit(rate: 1, burst: 1) })
    func `A refused request returns its allowance`() async throws {
        let key = try await server.key(.client)
        func register(_ phone: String, _ body: JSONValue, slow: Bool = false) async throws -> Reply {
            var fields = key.fields
            fields[.installationID] = phone
            if slow { fields[.expect] = "nothing" }
            return try await server.call(.put, "…/activities/\(phone)", body, fields)
        }
        for number in 0..<20 {
            #expect(try await register("bad-\(number)", ["token": "xyz"], slow: number % 2 == 0).status == 422)
        }
        for number in 0..<10 {
            let reply = try await register("phone-\(number)", ["token": .token(number)])
            #expect(reply.status == 201)
        }
        let refused = try await register("phone-10", ["token": .token(10)])
        #expect(refused.problem == "too-many-requests")
    }
}
