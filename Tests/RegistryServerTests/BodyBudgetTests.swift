import HTTPTypes
import PostgresDriver
import RegistryCore
import TestSupport
import Testing

@testable import RegistryServer

@Suite(.timeLimit(.minutes(5))) struct BodyBudgetTests {
    private static let resolve = "POST /v1/apps/com.example.food/sandbox/resolve HTTP/1.1\r\nHost: localhost\r\n"

    private static func head(_ bytes: Int, from address: String? = nil) -> String {
        resolve + "Content-Type: application/json\r\nContent-Length: \(bytes)\r\n"
            + (address.map { "X-Forwarded-For: \($0)\r\n" } ?? "") + "\r\n"
    }

    @Test func `A network can use an eighth of the budget`() throws {
        let budget = BodyBudget(800)
        let (one, other) = (CallerNetwork.of("9.9.9.9"), CallerNetwork.of("2a00:1::1"))
        var held = [try budget.reserve(60, for: one)]
        #expect(throws: Refusal.self) { try budget.reserve(41, for: one) }
        held.append(try budget.reserve(40, for: one))
        #expect(throws: Refusal.self) { try budget.reserve(1, for: one) }
        held.append(try budget.reserve(100, for: other))
        // An IPv6 network is a /64, independent of the address in it.
        #expect(throws: Refusal.self) { try budget.reserve(1, for: .of("2a00:1::2")) }
        // This machine has no share, but the total limit applies.
        held.append(try budget.reserve(600, for: nil))
        #expect(throws: Refusal.self) { try budget.reserve(1, for: nil) }
        #expect(budget.used == 800)
        held = []
        #expect(budget.used == 0)
        #expect(throws: Never.self) { try budget.reserve(100, for: one) }
    }

    @Test func `A reservation that grew is returned as a whole`() throws {
        let budget = BodyBudget(800)
        let one = CallerNetwork.of("9.9.9.9")
        do {
            let body = try budget.reserve(0, for: one)
            try body.grow(by: 70)
            try body.grow(by: 30)
            #expect(throws: Refusal.self) { try body.grow(by: 1) }
            #expect(budget.used == 100)
        }
        #expect(budget.used == 0)
        #expect(throws: Never.self) { try budget.reserve(100, for: one) }
    }

    @Test(arguments: [(8, 2 << 20), (20, 64 << 10)])
    func `No network can use up the budget`(_ networks: Int, _ body: Int) throws {
        let budget = BodyBudget(ServerConfiguration.Limits().bodiesUnderWay)
        var held: [BodyReservation] = []
        for size in [2 << 20, 64 << 10, 1 << 10] {
            for number in 0..<networks {
                let network = CallerNetwork.of("9.9.\(number / 250).\(number % 250)")
                while let more = try? budget.reserve(size, for: network) { held.append(more) }
            }
        }
        #expect(throws: Never.self) { try budget.reserve(body, for: .of("8.8.8.8")) }
        #expect(held.count > networks)
    }

    private static func service(bodies: Int) -> ServiceTrait {
        .service {
            $0.trustTest()
            $0.limits.bodiesUnderWay = bodies
        }
    }

    @Test(service(bodies: 100_000)) func `Without free budget, no body is read`() async throws {
        let budget = responder.bodies.batches
        do {
            let holder = try RawConnection(port: server.port, sending: Self.head(90_000) + "{")
            while budget.used != 90_000 { await Task.yield() }
            let refused = try RawConnection(port: server.port, sending: Self.head(20_000))
            let answer = await refused.read(until: "}")
            #expect(answer.hasPrefix("HTTP/1.1 503"))
            #expect(answer.contains("\"code\":\"unavailable\""))
            #expect(answer.lowercased().contains("connection: close"))
            #expect(answer.lowercased().contains("retry-after: 1"))
            #expect(try await server.register("a", token: 1).status == 201)
            let body = #"{"token":"aa02"}"# + String(repeating: " ", count: 20_000)
            let slow = try RawConnection(
                port: server.port,
                sending: Self.registration(body.utf8.count) + body.prefix(1)
            )
            while responder.bodies.singles.used == 0 { await Task.yield() }
            slow.send(String(body.dropFirst()))
            #expect(await slow.read(until: "}").hasPrefix("HTTP/1.1 201"))
            holder.finish()
            while budget.used > 0 { await Task.yield() }
            let later = try RawConnection(port: server.port)
            later.send(Self.head(20_000))
            while budget.used != 20_000 { await Task.yield() }
            #expect(try await server.measurements()["pushreg_bodies_refused_total"] == 1)
        }
        while budget.used > 0 { await Task.yield() }
    }

    private static func registration(_ length: Int) -> String {
        "PUT /v1/apps/com.example.food/sandbox/activities/b HTTP/1.1\r\nHost: localhost\r\n"
            + "Content-Type: application/json\r\nX-Forwarded-For: 9.9.9.9\r\nContent-Length: \(length)\r\n\r\n"
    }

    @Test(service(bodies: ServerConfiguration.Limits().bodiesUnderWay))
    func `Half-sent batches of a network do not delay its registrations`() async throws {
        let holders = try (0..<250).map { _ in
            try RawConnection(port: server.port, sending: Self.head(2 << 20, from: "9.9.9.9") + "{")
        }
        while responder.bodies.batches.used < 3 * (2 << 20) { await Task.yield() }
        // The batches do not count as heavy calls, which have a low limit per key.
        #expect(responder.heavyCalls.count == 0)
        for body in [#"{"token":"aa02"}"#, #"{"token":"aa02"}"# + String(repeating: " ", count: 60_000)] {
            let head = Self.registration(body.utf8.count)
            let connection = try RawConnection(port: server.port, sending: head + body.prefix(1))
            connection.send(String(body.dropFirst()))
            #expect(await connection.read(until: "}").hasPrefix("HTTP/1.1 20"))
        }
        withExtendedLifetime(holders) {}
    }

    @Test(
        .service {
            $0.trustTest()
            $0.limits.unreadResponses = 8 * 400_000
        }
    )
    func `A network has few large responses that it does not read`() async throws {
        func ask(from address: String, times: Int = 1) throws -> RawConnection {
            let text = "GET /openapi.json HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: \(address)\r\n\r\n"
            return try RawConnection(port: server.port, sending: String(repeating: text, count: times))
        }
        var holders: [RawConnection] = []
        try await until {
            // Asks for more than the buffers of its connection hold, unless a refusal ends the connection before.
            holders.append(try ask(from: "9.9.9.9", times: 100))
            return await (try ask(from: "9.9.9.9")).read(past: "\r\n").hasPrefix("HTTP/1.1 503")
        }
        #expect(await (try ask(from: "8.8.8.8")).read(past: "\r\n").hasPrefix("HTTP/1.1 200"))
        holders.forEach { $0.reset() }
        try await until { await (try ask(from: "9.9.9.9")).read(past: "\r\n").hasPrefix("HTTP/1.1 200") }
        try await until { responder.bodies.responses.used == 0 }
    }

    @Test(service(bodies: 80_000)) func `Chunks are counted as they arrive`() async throws {
        let chunk = "2000\r\n\(String(repeating: " ", count: 0x2000))\r\n"
        let fields = "Content-Type: application/json\r\nX-Forwarded-For: 9.9.9.9\r\nTransfer-Encoding: chunked\r\n\r\n"
        let slow = try RawConnection(port: server.port, sending: Self.resolve + fields + chunk)
        while responder.bodies.batches.used != 0x2000 { await Task.yield() }
        slow.send(chunk)
        #expect(await slow.read(until: "}").hasPrefix("HTTP/1.1 503"))
    }

    @Test(.service) func `Decoded bodies are freed`() async throws {
        let held = try await HeldTransaction("LOCK TABLE installations, activities", in: database)
        let state: JSONValue = ["observedAt": .minutesAgo(1), "activities": [["activityId": "a", "token": .token(1)]]]
        async let reply = server.call(.put, "…/installations/phone/activities", state)
        try await held.waitUntilSomebodyWaits()
        #expect(responder.bodies.batches.used == 0 && responder.heavyCalls.count == 1)
        try await held.release()
        #expect(try await reply.status == 200)
        #expect(responder.heavyCalls.count == 0)
    }

    /// The object, both arrays and the last number are values, too.
    @Test(.service) func `Bodies with too many values are refused`() async throws {
        for (objects, isRefused) in [(60_000, true), (49_998, false), (49_999, true)] {
            let text = "{\"aliases\":[],\"x\":[\(String(repeating: "{\"\":0},", count: objects))0]}"
            let reply = try await server.send(.post, "…/resolve", Array(text.utf8))
            #expect((reply.problem == "invalid-request ") == isRefused, "\(objects)")
        }
    }

    @Test(.service) func `Bodies at their limits are accepted, and larger ones refused`() async throws {
        func body(of size: Int) -> [UInt8] {
            Array(#"{"token":"00","x":""#.utf8) + [UInt8](repeating: 0x61, count: size - 21) + Array(#""}"#.utf8)
        }
        #expect(try await server.send(.put, "…/activities/a", body(of: 64 * 1024)).status == 201)
        #expect(try await server.send(.put, "…/activities/a", body(of: 64 * 1024 + 1)).status == 413)
        // A batch may be larger, but this is not a batch.
        let batch = try await server.send(.post, "…/resolve", body(of: 64 * 1024 + 1))
        #expect(batch.problem == "invalid-request /aliases")
    }

    @Test func `The worst permitted body stays within its cost`() throws {
        let objects = 49_998
        let filling = (2 * 1024 * 1024 - 40) / objects - #"{"":0},"#.utf8.count
        let padded = "{\"\(String(repeating: "k", count: filling))\":0},"
        let bytes = Array(("{\"x\":[" + String(repeating: padded, count: objects) + "0]}").utf8)
        #expect(bytes.count <= 2 * 1024 * 1024)
        // Keeps all values, so that none reuses memory. Other tests allocate in between, so the minimum counts.
        var values: [JSONValue] = []
        var (times, sizes): ([Duration], [Int]) = ([], [])
        for _ in 0..<3 {
            let before = MemoryReturn.residentBytes
            let start = ContinuousClock.now
            values.append(try JSONParser.parse(bytes, maximumValues: 100_000))
            times.append(ContinuousClock.now - start)
            sizes.append(MemoryReturn.residentBytes - before)
        }
        let (time, size) = (try #require(times.min()), try #require(sizes.min()))
        print("figure: worst body, \(bytes.count) bytes and 100,000 values: \(time), \(size >> 20) MiB as JSON")
        #expect(time < .seconds(10))
        #expect(size < 100 << 20)
        #expect(values.count == 3)
    }
}
