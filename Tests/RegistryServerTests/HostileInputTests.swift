import HTTPTypes
import TestSupport
import Testing

@testable import RegistryServer

@Suite(.timeLimit(.minutes(15))) struct HostileInputTests {
    private static let path = "/v1/apps/com.example.food/sandbox/activities/a-1"
    private static let host = "Host: localhost\r\n"

    private static func put(_ body: [UInt8], type: String = "application/json") -> [UInt8] {
        let fields = "\(host)Content-Type: \(type)\r\nContent-Length: \(body.count)\r\nConnection: close\r\n\r\n"
        return Array("PUT \(path) HTTP/1.1\r\n\(fields)".utf8) + body
    }

    private static func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

    private static func get(_ path: String, _ fields: String = "", isLast: Bool = true) -> [UInt8] {
        bytes("GET \(path) HTTP/1.1\r\n\(host)\(fields)\(isLast ? "Connection: close\r\n" : "")\r\n")
    }

    private static func head(_ fields: String, _ body: String) -> [UInt8] {
        bytes("PUT \(path) HTTP/1.1\r\n\(host)\(fields)\r\n\r\n\(body)")
    }

    private static func many(_ text: String, _ count: Int) -> String { String(repeating: text, count: count) }

    static let inputs: [(name: String, bytes: [UInt8])] = [
        ("100,000 header lines", get("/livez", (0..<100_000).map { "X-\($0): y\r\n" }.joined())),
        ("a header of a megabyte", get("/livez", "X: \(many("y", 1 << 20))\r\n")),
        ("a path of a megabyte", get("/" + many("y", 1 << 20))), ("a path of escapes", get("/" + many("%41/", 15_000))),
        ("a query of escapes", get("/livez?" + many("a=%41&", 12_000))),
        ("arrays 30,000 deep", put(bytes(many("[", 30_000) + many("]", 30_000)))),
        ("objects 10,000 deep", put(bytes(many(#"{"a":"#, 10_000)))),
        ("a body that is no UTF-8", put(bytes(#"{"token":""#) + [0xFF, 0xFE, 0xC0, 0x80] + bytes(#""}"#))),
        ("a path that is no UTF-8", bytes("GET /") + [0xFF, 0xFE] + get("").dropFirst(4)),
        ("a header that is no UTF-8", get("/livez", "X: ", isLast: false).dropLast(2) + [0xFF, 0xC0] + closing),
        ("NUL bytes", get("/\0", "X: \0\r\n", isLast: false)),
        ("a bare line feed", bytes("GET /livez HTTP/1.1\nHost: localhost\nConnection: close\n\n")),
        ("two lengths", head("Content-Length: 2\r\nContent-Length: 40", "{}")),
        ("length and chunks", head("Content-Length: 4\r\nTransfer-Encoding: chunked", "0\r\n\r\n")),
        ("a negative length", head("Content-Length: -1", "{}")),
        ("a chunk without end", head("Transfer-Encoding: chunked", "FFFFFFFFFFFFFFFFF\r\n{")),
        ("HTTP/2 without TLS", bytes("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n") + [0, 0, 0, 4, 0, 0, 0, 0, 0]),
        (
            "a TLS hello",
            [0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xFC, 0x03, 0x03] + [UInt8](repeating: 7, count: 600)
        ),
        (
            "an upgrade",
            get("/livez", "Connection: Upgrade, close\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n", isLast: false)
        ),
        ("a version that there is not", bytes("GET /livez HTTP/9.9\r\n\(host)\r\n")),
        ("no version", bytes("GET /livez\r\n\r\n")),
        ("CONNECT", bytes("CONNECT evil.example:443 HTTP/1.1\r\n\(host)Connection: close\r\n\r\n")),
        ("an absolute target", get("http://evil.example/livez")),
        ("500 pipelined requests", bytes(many("GET /none HTTP/1.1\r\n\(host)\r\n", 499)) + get("/none")),
        ("a smuggled request", put(bytes("{}GET /livez HTTP/1.1\r\n\(host)\r\n"))),
        ("noise", (0..<4096).map { UInt8(truncatingIfNeeded: $0 &* 2_654_435_761 >> 7) }),
    ]

    private static let closing = bytes("\r\nConnection: close\r\n\r\n")

    private static func impatient(_ time: Duration) -> ServiceTrait {
        .service { ($0.limits.requestDeadline, $0.limits.idleTimeout) = (time, time) }
    }

    @Test(.shared(impatient(.seconds(1))), arguments: inputs.indices)
    func `Hostile input gets a response or an end`(index: Int) async throws {
        let (name, bytes) = Self.inputs[index]
        let connection = try RawConnection(port: server.port)
        connection.send(bytes)
        let answer = await connection.read()
        let statuses = answer.matches(of: #/HTTP/1\.1 (\d)\d\d /#).map { String($0.output.1) }
        #expect(!statuses.contains("5"), "\(name): \(answer.prefix(300))")
        #expect(answer.isEmpty || !statuses.isEmpty, "\(name): \(answer.prefix(300))")
        if name.hasPrefix("500") { #expect(statuses.count == 500) }
        try await Self.goesOn()
    }

    @Test(impatient(.milliseconds(500)))
    func `A request that stops at any byte changes nothing and blocks nothing`() async throws {
        let whole = Self.put(Self.bytes(#"{"token":"00ff"}"#))
        try await withThrowingTaskGroup(of: String.self) { group in
            for count in 1..<whole.count {
                group.addTask {
                    let connection = try RawConnection(port: server.port)
                    connection.send(Array(whole.prefix(count)))
                    return await connection.read()
                }
            }
            for try await answer in group { #expect(answer.isEmpty || answer.hasPrefix("HTTP/1.1 4"), "\(answer)") }
        }
        try await Self.goesOn()
        // Valid calls need a service with long deadlines.
        try await ServiceTrait.service.run(on: server.registry) { patient in
            let reply = try await patient.call(.get, "…/activities/a-1")
            #expect(reply.problem == "activity-not-found")
        }
    }

    /// Expects a response from the service. Tries again, because the short deadline may pass first.
    private static func goesOn() async throws {
        try await until { (try? await server.call(.get, "/livez").status) == 200 }
    }
}
