import AsyncHTTPClient
import Foundation
import HTTPTypes
import NIOCore
import NIOHTTP1
import RegistryCore
import TestSupport
import Testing

@testable import RegistryServer

/// RFC 9112's rules for versions, hosts and the end of connections.
@Suite(.shared(.service { $0.limits.idleTimeout = .seconds(600) }), .timeLimit(.minutes(15)))
struct HTTPFramingTests {
    private static let path = PipeliningTests.path + "/aliases/orderId/nobody/activities"
    private static let next = "GET /livez HTTP/1.1\r\nHost: localhost\r\nRequest-Id: behind\r\n\r\n"

    private static func answers(_ head: String, last: Bool = false) async throws -> [String] {
        let text = try await server.answer(to: "\(head)\r\n\r\n\(Self.next)", isAll: last)
        return text.components(separatedBy: "HTTP/1.").dropFirst().map { "HTTP/1." + $0 }
    }

    private static func closes(_ answer: String?) -> Bool {
        answer?.lowercased().contains("\r\nconnection: close\r\n") == true
    }

    /// HTTP/1.0 connections and connections with the option close are closed.
    @Test(
        arguments: [
            "1.1 Connection: close", "1.1 Connection: Close", "1.1 connection: CLOSE", "1.0 Connection: close",
            "1.1 Connection: x-mine ,close , y", "1.1 Connection: keep-alive\r\nConnection: close", "1.0 X: y",
            "1.1 Connection: keep-alive, cLose", "1.0 Connection: keep-alive",
        ].map { ($0, true) }
            + ["1.1 X: y", "1.1 Connection: keep-alive", "1.1 Connection: closed", "1.1 Connection: x-close"]
            .map { ($0, false) }
    )
    func `Version and options decide whether a connection stays open`(_ text: String, _ closes: Bool) async throws {
        let (version, field) = (text.prefix(3), text.dropFirst(4))
        let head = "GET \(Self.path) HTTP/\(version)\r\nHost: localhost\r\n\(field)"
        let answers = try await Self.answers(head, last: !closes)
        #expect(answers.count == (closes ? 1 : 2) && answers.allSatisfy { Self.closes($0) == closes }, "\(answers)")
        #expect(answers.first?.hasPrefix("HTTP/\(version) 200 ") == true, "\(answers)")
    }

    /// An HTTP/1.0 caller detects a complete stream by its last line and the connection's end.
    @Test func `HTTP 1.0 callers get no chunks`() async throws {
        let head =
            "GET \(Self.path) HTTP/1.0\r\nHost: localhost\r\nAccept: application/x-ndjson\r\nExpect: 100-continue"
        let answer = try await Self.answers(head).joined()
        #expect(answer.hasPrefix("HTTP/1.0 200 ") && answer.hasSuffix("}\n{\"end\":true,\"count\":0}\n"), "\(answer)")
        #expect(!answer.lowercased().contains("transfer-encoding"))
    }

    /// This check comes first, before the loopback check of `--insecure-no-auth`.
    @Test(
        arguments: [
            "", "Host:", "Host: localhost\r\nHost: localhost", "Host: localhost\r\nhost: evil.example", "Host: a b",
            "Host: a/b", "Host: user@localhost", "Host: localhost:x", "Host: localhost:123456", "Host: [::1",
            "Host: []", "Host: [::g]", "Host: ::1", "Host: caf\u{e9}", "Host: :80", "Host: a,b c",
        ]
    )
    func `A request that does not name one host is refused`(_ field: String) async throws {
        let head = "GET \(Self.path) HTTP/1.1\r\n\(field.isEmpty ? "X: y" : field)"
        let answers = try await Self.answers(head, last: true)
        #expect(answers.count == 1 && answers.first?.hasPrefix("HTTP/1.1 400 ") == true, "\(answers)")
        #expect(Self.closes(answers.first))
        #expect(answers.first?.contains(#""code":"malformed-request""#) == true)
        #expect(answers.first?.contains("Host") == true)
    }

    @Test(arguments: [
        "localhost", "LOCALHOST:8080", "a_b.example", "[::1]:80", "[::ffff:10.0.0.1]", "x:", "a%20b", "x ",
    ])
    func `A host is a name or address, with a port or without`(_ host: String) { #expect(HostField.isValid(host)) }

    @Test(.secureService) func `HTTP 1.0 requests need no host`() async throws {
        for (fields, status) in [("", "HTTP/1.0 200 "), ("Host: a\r\nHost: a\r\n", "HTTP/1.1 400 ")] {
            #expect(try await server.answer(to: "GET /livez HTTP/1.0\r\n\(fields)\r\n").hasPrefix(status))
        }
    }

    @Test func `HTTP 2 has the same limit of header fields as HTTP 1`() async throws {
        try await TLSTests.withClient { client, port in
            for (method, count, status) in [
                (HTTPMethod.GET, 95, 200 as UInt), (.GET, 101, 431), (.PUT, 150, 431), (.GET, 1, 200),
            ] {
                var request = HTTPClientRequest(url: "https://localhost:\(port)/livez")
                request.method = method
                for number in 0..<count { request.headers.add(name: "x-\(number)", value: "y") }
                if method == .PUT { request.body = .bytes(ByteBuffer(repeating: 0x20, count: 100_000)) }
                let answer = try await client.execute(request, timeout: .seconds(10))
                #expect(answer.version == .http2 && answer.status.code == status)
                let body = String(buffer: try await answer.body.collect(upTo: 10_000))
                #expect(status == 200 || body.contains(#""code":"headers-too-large""#))
            }
        }
    }

    @Test(arguments: [
        ("localhost", [], true), (nil, ["localhost"], true), ("localhost", ["localhost"], true), (nil, [], false),
        ("localhost", ["evil.example"], false), (nil, ["a", "a"], false), ("a/b", [], false), ("", [], false),
    ])
    func `An HTTP 2 request names one host`(_ authority: String?, _ hosts: [String], _ isRight: Bool) throws {
        var head = HTTPRequest(method: .get, scheme: "https", authority: authority, path: "/livez")
        let name = try #require(HTTPField.Name("host"))
        for host in hosts { head.headerFields.append(HTTPField(name: name, value: host)) }
        let fault = head.streamFault(mostFields: 100)
        #expect((fault == nil) == isRight)
        #expect((isRight || fault?.code == .malformedRequest))
    }
}

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
