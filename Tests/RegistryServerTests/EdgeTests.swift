import Foundation
import HTTPTypes
import TestSupport
import Testing

@testable import RegistryServer

@Suite(.service, .timeLimit(.minutes(15))) struct EdgeTests {
    @Test(arguments: [
        // With Host and Connection: 100 and 101 fields.
        (String(repeating: "X: y\r\n", count: 98), "200 "), (String(repeating: "X: y\r\n", count: 99), "431 "),
        ("X: \(String(repeating: "y", count: 16_384))\r\n", "200 "),
        ("X: \(String(repeating: "y", count: 16_385))\r\n", "431 "),
        (String(repeating: "X: \(String(repeating: "y", count: 15_000))\r\n", count: 2), "200 "),
        (String(repeating: "X: \(String(repeating: "y", count: 15_000))\r\n", count: 3), "431 "),
    ])
    func `Header fields have limits`(_ fields: String, _ status: String) async throws {
        let head = "GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
        let answer = try await server.answer(to: head + fields + "\r\n")
        #expect(answer.hasPrefix("HTTP/1.1 \(status)"), "\(answer.prefix(200))")
        #expect(answer.lowercased().contains("request-id: "))
        #expect(status == "200 " || answer.contains(#""code":"headers-too-large""#))
    }

    @Test(arguments: [(8192, "200 "), (8193, "400 "), (17_000, "431 ")])
    func `Paths have a limit`(_ count: Int, _ status: String) async throws {
        let path = "/livez?" + String(repeating: "x", count: count - 7)
        let fields = "Host: localhost\r\nConnection: close\r\n\r\n"
        let answer = try await server.answer(to: "GET \(path) HTTP/1.1\r\n\(fields)")
        #expect(answer.hasPrefix("HTTP/1.1 \(status)"), "\(answer.prefix(200))")
        #expect(status != "400 " || answer.contains(#""code":"malformed-path""#))
    }

    /// The last lacks its host.
    @Test(arguments: ["NONSENSE", "GET /livez HTTP/1.1"])
    func `Input that is not HTTP is refused after the complete response before it`(_ input: String) async throws {
        let answers = try await server.answer(to: "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n\(input)\r\n\r\n")
            .components(separatedBy: "HTTP/1.1 ")
        #expect(answers.count == 3 && answers[1].hasPrefix("200 "))
        #expect(answers[2].hasPrefix("400 ") && answers[2].contains(#""code":"malformed-request""#))
        #expect(answers[2].contains("Request-Id: ") && answers[2].hasSuffix("}"))
    }

    /// The deadline counts from the connection's start, not from the last byte.
    @Test(.service { $0.idleTimeout = .milliseconds(500) })
    func `A header that arrives too slowly is refused`() async throws {
        let connection = try RawConnection(port: server.port)
        connection.send("GET /livez HTTP/1.1\r\nHost: localhost\r\nX: ")
        connection.trickle(every: .milliseconds(20))
        #expect(await connection.read().isEmpty)
    }

    /// 1 GB: refused after the header, and closed long before its end.
    @Test(arguments: ["/v1/apps/com.example.food/sandbox/activities/a-1", "/livez", "/nowhere"])
    func `An unread body is not accepted`(_ path: String) async throws {
        let (connection, length) = (try RawConnection(port: server.port), 1 << 30)
        async let answer = connection.read()
        connection.send("PUT \(path) HTTP/1.1\r\nHost: localhost\r\nContent-Length: \(length)\r\n\r\n")
        let taken = await connection.send([UInt8](repeating: 0x20, count: 1 << 16), times: length >> 16)
        // Includes the buffers of both sockets.
        #expect(taken < 64 << 20, "\(taken)")
        let text = await answer
        #expect(text.hasPrefix("HTTP/1.1 4"), "\(text)")
        #expect(try await server.call(.get, "/livez").status == 200)
    }

    @Test func `Responses have the security headers for browsers`() async throws {
        let fields: HTTPFields = [
            .origin: "https://evil.example", .accessControlRequestMethod: "PUT",
            .accessControlRequestHeaders: "authorization",
        ]
        for (method, path, status) in [
            (HTTPRequest.Method.options, "…/activities/a-1", 405), (.options, "/livez", 405),
            (.options, "/nowhere", 404), (.get, "/livez", 200), (.get, "/openapi.json", 200),
            (.get, "…/aliases/userId/u/activities", 200), (.delete, "…/activities/a-1", 403),
        ] {
            let reply = try await server.call(method, path, nil, fields)
            #expect(reply.status == status)
            let names = reply.fields.map(\.name.canonicalName)
            #expect(!names.contains { $0.hasPrefix("access-control") })
            #expect(reply.fields[.xContentTypeOptions] == "nosniff")
            #expect(reply.fields[.contentSecurityPolicy] == "default-src 'none'; frame-ancestors 'none'")
            #expect(reply.fields[.init("Referrer-Policy")!] == "no-referrer")
        }
    }

    @Test(arguments: [
        ("/", "/docs"), ("/docs/", "/docs"), ("/docs/reference/plans/", "/docs/reference/plans"),
        ("/console/", "/console"),
        ("/console/com.example.food/sandbox/", "/console/com.example.food/sandbox"),
        ("/console/a%0d%0ab/%2F/", "/console/a%0D%0Ab/%2F"),
    ])
    func `A page path with a final slash redirects`(_ path: String, _ target: String) async throws {
        for method in [HTTPRequest.Method.get, .head] {
            let reply = try await server.call(method, path)
            #expect(reply.status == 303)
            #expect(reply.fields[.location] == target)
        }
        #expect(try await server.call(.post, path).status >= 400)
        for other in ["/v1/apps/", "/livez/", "/none/"] {
            #expect(try await server.call(.get, other).status == 404)
        }
    }
}
