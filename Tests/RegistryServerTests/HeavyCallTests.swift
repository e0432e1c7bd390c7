import HTTPTypes
import NIOCore
import NIOEmbedded
import NIOHTTPTypes
import PostgresDriver
import RegistryCore
import TestSupport
import Testing

@testable import RegistryServer

@Suite(.timeLimit(.minutes(5))) struct HeavyCallTests {
    private static let phone = Principal(role: .client, who: "prc_1")
    private static let sender = Principal(role: .sender, who: "prs_1")
    private static let user = Principal(role: .client, who: "user:u-1", subject: "u-1")

    private static func caller(_ number: Int, _ installation: String? = nil) -> Caller {
        Caller(network: .of("9.9.\(number / 250).\(number % 250)"), installation: installation.map { Array($0.utf8) })
    }

    @Test(arguments: [(sender, 32), (user, 16)])
    func `Heavy calls of a credential are limited`(_ principal: Principal, _ limit: Int) throws {
        let calls = HeavyCalls(ServerConfiguration.HeavyCallLimits())
        var held = try (0..<limit).map { try calls.countCall(principal, Self.caller($0), in: "a") }
        let refusal = #expect(throws: Refusal.self) { try calls.countCall(principal, Self.caller(1000), in: "a") }
        #expect(refusal?.problem.code == .tooManyRequests)
        #expect(refusal?.problem.retryAfter == .seconds(1))
        #expect(refusal?.fields[.rateLimitPolicy] == "\"concurrent\";q=\(limit);w=1")
        #expect(throws: Never.self) {
            try calls.countCall(Principal(role: .client, who: "x"), Self.caller(1000), in: "a")
        }
        held.removeLast()
        #expect(throws: Never.self) { try calls.countCall(principal, Self.caller(1000), in: "a") }
        held = []
        #expect(calls.count == 0)
    }

    @Test func `A few networks cannot use up a publishable key`() throws {
        let calls = HeavyCalls(ServerConfiguration.HeavyCallLimits())
        let held = try (0..<200).map { try calls.countCall(Self.phone, Self.caller($0 / 4), in: "a") }
        #expect(throws: Never.self) { try calls.countCall(Self.phone, Self.caller(1000, "phone 1"), in: "a") }
        withExtendedLifetime(held) {}
    }

    @Test func `Heavy calls of networks and installations are limited`() throws {
        let calls = HeavyCalls(ServerConfiguration.HeavyCallLimits())
        let held = try (0..<4).map { number in
            try calls.countCall(Principal(role: .client, who: "\(number)"), Self.caller(1, "phone \(number)"), in: "a")
        }
        #expect(throws: Refusal.self) { try calls.countCall(Self.phone, Self.caller(1), in: "a") }
        // Refused calls do not count.
        #expect(throws: Never.self) { try calls.countCall(Self.phone, Self.caller(2, "phone 9"), in: "a") }
        #expect(throws: Refusal.self) { try calls.countCall(Self.phone, Self.caller(3, "phone 0"), in: "a") }
        #expect(throws: Never.self) { try calls.countCall(Self.phone, Self.caller(3, "phone 0"), in: "b") }
        // This machine has no network limit.
        let local = try (0..<16).map { _ in try calls.countCall(Self.phone, Caller(), in: "a") }
        withExtendedLifetime((held, local)) {}
    }

    @Test func `The heavy routes are the listed routes`() {
        let heavy = Route.all.filter { $0.isHeavy(asLines: false) }.map { route in
            "\(route.method) \(route.template.split(separator: "/").dropFirst(route.template.contains("environment") ? 4 : 2).joined(separator: "/"))"
        }
        let listed: Set = [
            "PUT installations/{installationId}/activities", "DELETE installations/{installationId}",
            "POST resolve", "POST feedback", "POST plan", "DELETE aliases/{kind}/{value}/activities", "POST release",
            "POST erasures", "GET stats", "GET audit/stale", "POST audit/stale/purge", "GET audit/events",
            "GET audit/explain", "DELETE {bundleId}",
        ]
        #expect(listed.symmetricDifference(heavy).isEmpty)
        let streamed = Route.all.filter { $0.isHeavy(asLines: true) && !$0.isHeavy(asLines: false) }
        #expect(streamed.map(\.template) == ["/v1/apps/{bundleId}/{environment}/aliases/{kind}/{value}/activities"])
    }

    /// Full states wait for a locked table, and resolutions of many aliases for another.
    @Test(
        .secureService {
            $0.heavyCalls.key = 1
            $0.trustTest()
        }
    )
    func `Heavy calls count while they are running`() async throws {
        let (client, sender, admin) = try await (server.key(.client), server.key(.sender), server.key(.admin))
        let state: JSONValue = ["observedAt": .minutesAgo(1), "activities": [["activityId": "a", "token": .token(1)]]]
        let many: JSONValue = ["aliases": [["kind": "userId", "value": "u"]]]
        func report(from address: String) async throws -> Reply {
            try await server.call(.put, "…/installations/one/activities", state, client.fields.from(address))
        }
        let held = try await HeldTransaction("LOCK TABLE installations, activities", in: database)
        async let first = report(from: "9.9.9.9")
        try await held.waitUntilSomebodyWaits()
        let again = try await report(from: "9.9.9.8")
        #expect(again.status == 429 && again.fields[.retryAfter] == "1")
        #expect(again.fields[.rateLimitPolicy] == "\"concurrent\";q=1;w=1")
        async let second = server.call(.post, "…/resolve", many, sender.fields)
        while responder.heavyCalls.count < 2 { await Task.yield() }
        #expect(try await server.call(.post, "…/resolve", many, sender.fields).problem == "too-many-requests")
        #expect(try await server.call(.get, "…/aliases/userId/u/channel", nil, sender.fields).status == 404)
        try await held.release()
        #expect(try await [first.status, second.status] == [200, 200])
        #expect(try await report(from: "9.9.9.8").status == 200)
        #expect(try await server.measurements(admin.fields)["pushreg_heavy_calls_refused_total"] == 2)
    }

    private struct Lines: ResponseStream {
        func write(to writer: Exchange) async throws { try await writer.write(ByteBuffer(string: "a\n")) }
    }

    /// Records the number of heavy calls in progress at each written part of a response.
    private final class Notes: ChannelOutboundHandler {
        typealias OutboundIn = ResponsePart

        let calls: HeavyCalls
        var counts: [Int] = []

        init(_ calls: HeavyCalls) { self.calls = calls }

        func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
            counts.append(calls.count)
        }
    }

    /// A caller that has read everything may call again at once, so the last part is sent after the call's end.
    @Test(arguments: [
        (Response.Body.stream(Lines()), [1, 1, 0]),
        (.bytes([UInt8](repeating: 0, count: 100_000)), [1, 1, 1, 1, 0, 0]),
        (.bytes([1, 2, 3]), [0]),
    ])
    func `A heavy call counts until its response is read`(body: Response.Body, expected: [Int]) throws {
        let calls = HeavyCalls(ServerConfiguration.HeavyCallLimits())
        let channel = EmbeddedChannel()
        let notes = Notes(calls)
        let handler = RequestHandler(Request.Connection(channel), ServerConfiguration.Limits(), slot: nil) { _ in
            Response(body: body, heavyCall: try? calls.countCall(Self.sender, Caller(), in: "a"))
        }
        try channel.pipeline.syncOperations.addHandlers([notes, handler])
        try channel.writeInbound(HTTPRequestPart.head(.to("/")))
        try channel.writeInbound(HTTPRequestPart.end(nil))
        channel.embeddedEventLoop.run()
        #expect(notes.counts == expected)
        #expect(calls.count == 0)
        _ = try channel.finish()
    }
}
