import Foundation
import HTTPTypes
import TestSupport
import Testing

@testable import RegistryServer

@Suite(.timeLimit(.minutes(15))) struct ConnectionTests {
    private static let path = "/v1/apps/com.example.food/sandbox/activities/a-1"

    /// So that the deadline, not the idle timer, closes the connection.
    private static func service(deadline: Duration = .seconds(10)) -> ServiceTrait {
        .service {
            $0.requestDeadline = deadline
            $0.idleTimeout = .seconds(600)
        }
    }

    /// Otherwise, without authentication, a page in a browser could call the service under another host name.
    @Test(
        .service,
        arguments: [
            ("Host: evil.example", "421 "), ("Host: localhost.evil.example:8080", "421 "), ("Host: [::1]:8080", "200 "),
            ("Host: 127.0.0.1", "200 "),
        ]
    )
    func `Only a loopback host gets a response`(_ fields: String, _ status: String) async throws {
        let answer = try await server.answer(to: "GET /livez HTTP/1.1\r\n\(fields)\r\nConnection: close\r\n\r\n")
        #expect(answer.hasPrefix("HTTP/1.1 \(status)"))
        #expect(status == "200 " || answer.contains("misdirected-request"))
    }

    @Test(
        service(deadline: .seconds(2)),
        arguments: [
            (path, 100, "{", "408 "), ("/none", 100, "{", "404 "),
            (path, 99_999_999_999, "", "413 "),
        ]
    )
    func `A body that arrives too slowly or is announced as too large is refused`(
        _ path: String,
        _ length: Int,
        _ body: String,
        _ status: String
    ) async throws {
        let fields = "Host: localhost\r\nContent-Type: application/json\r\nContent-Length: \(length)"
        let answer = try await server.answer(to: "PUT \(path) HTTP/1.1\r\n\(fields)\r\n\r\n\(body)")
        #expect(answer.hasPrefix("HTTP/1.1 \(status)") && answer.components(separatedBy: "HTTP/1.1 ").count == 2)
        #expect(status == "404 " || answer.lowercased().contains("connection: close"))
        #expect(status != "413 " || answer.contains("body-too-large"))
        #expect(try await server.call(.get, "/livez").status == 200)
    }

    @Test(service()) func `A chunked body that is too large is refused`() async throws {
        let chunk = "4000\r\n" + String(repeating: " ", count: 0x4000) + "\r\n"
        let fields = "Host: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
        let chunks = String(repeating: chunk, count: 5) + "0\r\n\r\n"
        #expect(
            try await server.answer(to: "PUT \(Self.path) HTTP/1.1\r\n\(fields)\(chunks)").hasPrefix("HTTP/1.1 413 ")
        )
    }

    @Test(service()) func `A caller that expects 100-continue gets it`() async throws {
        let connection = try RawConnection(port: server.port)
        let fields = "Host: localhost\r\nContent-Type: application/json\r\nContent-Length: 14\r\nConnection: close"
        connection.send("PUT \(Self.path) HTTP/1.1\r\n\(fields)\r\nExpect: 100-continue\r\n\r\n")
        #expect(await connection.read(until: "\r\n\r\n").hasPrefix("HTTP/1.1 100 "))
        connection.send(#"{"token":"00"}"#)
        #expect(await connection.read().hasPrefix("HTTP/1.1 201 "))
    }

    @Test(.service) func `The HEAD of a stream has no body`() async throws {
        let path = "/v1/apps/com.example.food/sandbox/aliases/userId/u/activities"
        let answers = try await server.answer(
            to: "HEAD \(path) HTTP/1.1\r\nHost: localhost\r\nAccept: application/x-ndjson\r\n\r\n"
                + "GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        ).components(separatedBy: "\r\n\r\n")
        #expect(answers.count == 3 && answers[0].contains("x-ndjson") && answers[1].hasPrefix("HTTP/1.1 200 "))
    }
}
