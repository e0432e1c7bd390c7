import Foundation
import HTTPTypes
import RegistryCore
import TestSupport
import Testing

@testable import RegistryServer

@Suite(.timeLimit(.minutes(15))) struct ConnectionTests {
    private static let path = "/v1/apps/com.example.food/sandbox/activities/a-1"

    private static func run(
        deadline: Duration = .seconds(10),
        _ test: @Sendable (LiveServer, RawConnection) async throws -> Void
    ) async throws {
        let adjust = { (limits: inout ServerConfiguration.Limits) in
            limits.requestDeadline = deadline
            // So that the deadline, not the idle timer, closes the connection.
            limits.idleTimeout = .seconds(600)
        }
        try await LiveServer.run(insecureNoAuth: true, adjust) { (server: LiveServer) async throws in
            try await test(server, RawConnection(port: server.port))
        }
    }

    /// Otherwise, without authentication, a page in a browser could call the service under another host name.
    @Test(arguments: [
        ("Host: evil.example", "421 "), ("Host: localhost.evil.example:8080", "421 "), ("Host: [::1]:8080", "200 "),
        ("Host: 127.0.0.1", "200 "),
    ])
    func `Only a loopback host gets a response`(_ fields: String, _ status: String) async throws {
        try await Self.run { _, connection in
            connection.send("GET /livez HTTP/1.1\r\n\(fields)\r\nConnection: close\r\n\r\n")
            let answer = await connection.read()
            #expect(answer.hasPrefix("HTTP/1.1 \(status)"))
            #expect(status == "200 " || answer.contains("misdirected-request"))
        }
    }

    @Test func `A body that arrives too slowly is refused`() async throws {
        try await Self.run(deadline: .seconds(2)) {
            (server: LiveServer, connection: RawConnection) async throws in
            connection.send("PUT \(Self.path) HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{")
            let answer = await connection.read()
            #expect(answer.hasPrefix("HTTP/1.1 408 "))
            #expect(answer.lowercased().contains("connection: close"))
            #expect(try await server.call(.get, "/livez").status == 200)
        }
    }

    @Test func `An unread body that arrives too slowly is refused`() async throws {
        try await Self.run(deadline: .seconds(2)) { _, connection in
            connection.send("PUT /none HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{")
            let answer = await connection.read()
            #expect(answer.hasPrefix("HTTP/1.1 404 Not Found\r\n") && !answer.contains("HTTP/1.1 408"))
        }
    }

    @Test func `A body announced as too large is refused unread`() async throws {
        try await Self.run(deadline: .seconds(2)) { _, connection in
            let fields = "Host: localhost\r\nContent-Type: application/json\r\nContent-Length: 99999999999"
            connection.send("PUT \(Self.path) HTTP/1.1\r\n\(fields)\r\n\r\n")
            let answer = await connection.read()
            #expect(answer.hasPrefix("HTTP/1.1 413 "))
            #expect(answer.contains("body-too-large"))
            #expect(answer.lowercased().contains("connection: close"))
        }
    }

    @Test func `A chunked body that is too large is refused`() async throws {
        try await Self.run { _, connection in
            let chunk = "4000\r\n" + String(repeating: " ", count: 0x4000) + "\r\n"
            let chunks = String(repeating: chunk, count: 5) + "0\r\n\r\n"
            connection.send(
                "PUT \(Self.path) HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n\(chunks)"
            )
            let answer = await connection.read()
            #expect(answer.hasPrefix("HTTP/1.1 413 "))
        }
    }

    @Test func `A caller that expects 100-continue gets it`() async throws {
        try await Self.run { _, connection in
            let fields = "Host: localhost\r\nContent-Type: application/json\r\nContent-Length: 14\r\nConnection: close"
            connection.send("PUT \(Self.path) HTTP/1.1\r\n\(fields)\r\nExpect: 100-continue\r\n\r\n")
            #expect(await connection.read(until: "\r\n\r\n").hasPrefix("HTTP/1.1 100 "))
            connection.send(#"{"token":"00"}"#)
            #expect(await connection.read().hasPrefix("HTTP/1.1 201 "))
        }
    }

    @Test func `Requests may follow each other closely`() async throws {
        try await Self.run { _, connection in
            let request = "GET /livez HTTP/1.1\r\nHost: localhost\r\nRequest-Id:"
            connection.send("\(request) r-1\r\n\r\n\(request) r-2\r\n\r\n\(request) r-3\r\nConnection: close\r\n\r\n")
            let answer = await connection.read()
            let ids = answer.matches(of: /Request-Id: (r-\d)/).map { String($0.output.1) }
            #expect(ids == ["r-1", "r-2", "r-3"])
        }
    }

    @Test func `The HEAD of a stream has no body`() async throws {
        try await Self.run { _, connection in
            let path = "/v1/apps/com.example.food/sandbox/aliases/userId/u/activities"
            connection.send("HEAD \(path) HTTP/1.1\r\nHost: localhost\r\nAccept: application/x-ndjson\r\n\r\n")
            connection.send("GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            let answers = await connection.read().components(separatedBy: "\r\n\r\n")
            #expect(answers.count == 3 && answers[0].contains("x-ndjson") && answers[1].hasPrefix("HTTP/1.1 200 "))
        }
    }
}
