import Foundation
import TestSupport
import Testing

@testable import RegistryServer

/// Requests after which NIO's decoder stops parsing HTTP. They get a response without an upgrade and the connection
/// continues, except after a tunnel.
@Suite(.timeLimit(.minutes(15))) struct UpgradeTests {
    struct Request: Sendable, CustomTestStringConvertible {
        let name: String
        let text: String
        let status: String
        var before = 0
        var testDescription: String { name }
    }

    private static let path = PipeliningTests.path
    private static let upgrade =
        "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA"
    private static let webSocket = "Connection: keep-alive, Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13"

    private static func get(_ path: String, _ fields: String) -> String {
        "GET \(path) HTTP/1.1\r\nHost: localhost\r\n\(fields)\r\n\r\n"
    }

    /// Concurrent registrations of one token would be ordered by their activities' ids.
    private static func put(_ token: String, _ fields: String) -> String {
        let body = #"{"token":"\#(token)"}"#
        let type = "Content-Type: application/json\r\nContent-Length: \(body.utf8.count)"
        return "PUT \(path)/activities/a-1 HTTP/1.1\r\nHost: localhost\r\n\(type)\r\n\(fields)\r\n\r\n\(body)"
    }

    private static let list = path + "/aliases/orderId/o-1/activities"
    private static let plain = "GET \(list) HTTP/1.1\r\nHost: localhost\r\n\r\n"

    static let requests = [
        Request(name: "probe, h2c", text: get("/livez", upgrade), status: "200"),
        Request(name: "probe, websocket", text: get("/livez", webSocket), status: "200"),
        Request(name: "call, h2c", text: get(list, upgrade), status: "200"),
        Request(name: "call, no token in Connection", text: get(list, "Upgrade: h2c"), status: "200"),
        Request(name: "call, other case", text: get(list, "CONNECTION: uPGRADE\r\nUPGRADE: H2C"), status: "200"),
        Request(name: "lines, h2c", text: get(list, "Accept: application/x-ndjson\r\n" + upgrade), status: "200"),
        Request(name: "registration, h2c", text: put("aa01", upgrade), status: "201"),
        Request(name: "registration, websocket", text: put("aa02", webSocket), status: "201"),
        Request(
            name: "registration, to continue",
            text: put("aa03", upgrade + "\r\nExpect: 100-continue"),
            status: "201"
        ),
        Request(name: "behind another", text: plain + get(list, upgrade), status: "200", before: 1),
        Request(name: "tunnel", text: "CONNECT localhost:443 HTTP/1.1\r\nHost: localhost\r\n\r\n", status: "400"),
        Request(name: "unknown", text: get("/nowhere", upgrade), status: "404"),
    ]

    private static func check(_ request: Request, _ text: String) {
        var answers = text.components(separatedBy: "HTTP/1.1 ").dropFirst()
        // A body that arrives together with its header needs no 100 Continue.
        if answers.first == "100 Continue\r\n\r\n" { answers = answers.dropFirst() }
        let isTunnel = request.name == "tunnel"
        #expect(answers.count == request.before + (isTunnel ? 1 : 2), "\(text)")
        #expect(answers.dropFirst(request.before).first?.hasPrefix(request.status) == true, "\(text)")
        #expect(isTunnel || answers.last?.hasPrefix("200") == true, "\(text)")
        for (index, answer) in answers.enumerated() {
            let isLast = index == answers.count - 1
            #expect(answer.lowercased().contains("\r\nconnection: close\r\n") == isLast, "\(answer)")
        }
    }

    /// The request with an activity of its own, and the next request.
    private static func pair(_ request: Request) -> String {
        request.text.replacing("a-1", with: "a-\(UUID().uuidString)") + get("/livez", "Connection: close")
    }

    @Test(.shared(.service { $0.limits.idleTimeout = .seconds(600) }), arguments: requests)
    func `A request with Upgrade and the next one get responses over TCP`(_ request: Request) async throws {
        Self.check(request, try await server.answer(to: Self.pair(request)))
    }

    /// All requests use one service, because each service generates a certificate.
    @Test func `A request with Upgrade and the next one get responses over TLS`() async throws {
        try await TLSTests.run(TestCertificate()) { port in
            for request in Self.requests {
                Self.check(request, try await OpenSSLClient.exchange(Self.pair(request), port: port))
            }
        }
    }

    @Test(.service { $0.limits.idleTimeout = .seconds(2) }) func `Bytes after CONNECT are not collected`() async throws
    {
        let connection = try RawConnection(port: server.port)
        connection.send("CONNECT localhost:443 HTTP/1.1\r\nHost: localhost\r\n\r\n")
        let taken = await connection.send([UInt8](repeating: 0x20, count: 1 << 16), times: 1024)
        // Includes the kernel's buffers.
        #expect(taken < 32 << 20, "\(taken)")
    }
}
