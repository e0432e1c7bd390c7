import Foundation
import HTTPTypes
import RegistryCore
import TestSupport
import Testing

@testable import RegistryServer

/// Limits of requests, and requests of pages in browsers.
@Suite(.shared(.service), .timeLimit(.minutes(15))) struct EdgeTests {
    private static let path = "/v1/apps/com.example.food/sandbox/activities/a-1"

    private static func many(_ text: String, _ count: Int) -> String { String(repeating: text, count: count) }

    /// Paths, header fields, and the status and code of the response.
    @Test(arguments: [
        // With Host and Connection: 100 and 101 fields.
        ("/livez", many("X: y\r\n", 98), "200 ", ""), ("/livez", many("X: y\r\n", 99), "431 ", "headers-too-large"),
        ("/livez", "X: \(many("y", 16_384))\r\n", "200 ", ""),
        ("/livez", "X: \(many("y", 16_385))\r\n", "431 ", "headers-too-large"),
        ("/livez", many("X: \(many("y", 15_000))\r\n", 2), "200 ", ""),
        ("/livez", many("X: \(many("y", 15_000))\r\n", 3), "431 ", "headers-too-large"),
        ("/livez?" + many("x", 8185), "", "200 ", ""), ("/livez?" + many("x", 8186), "", "400 ", "malformed-path"),
        ("/livez?" + many("x", 16_993), "", "431 ", ""), ("/livez?" + many("a&", 63) + "a", "", "200 ", ""),
        ("/livez?" + many("a&", 64) + "a", "", "400 ", "malformed-path"),
        ("/v1" + many("/a", 4000), "", "404 ", "no-such-route"),
        ("/v1" + many("/a", 4000) + "%", "", "400 ", "malformed-path"),
    ])
    func `Heads have limits`(_ path: String, _ fields: String, _ status: String, _ code: String) async throws {
        let head = "GET \(path) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\(fields)\r\n"
        let answer = try await server.answer(to: head)
        #expect(answer.hasPrefix("HTTP/1.1 \(status)"), "\(answer.prefix(200))")
        #expect(code.isEmpty || answer.contains(code))
        #expect(answer.lowercased().contains("request-id: "))
    }

    /// Otherwise, without authentication, a page in a browser could call the service under another host name.
    @Test(arguments: [
        ("evil.example", "421 "), ("localhost.evil.example:8080", "421 "), ("[::1]:8080", "200 "),
        ("127.0.0.1", "200 "),
    ])
    func `Only a loopback host gets a response`(_ host: String, _ status: String) async throws {
        let answer = try await server.answer(to: "GET /livez HTTP/1.1\r\nHost: \(host)\r\nConnection: close\r\n\r\n")
        #expect(answer.hasPrefix("HTTP/1.1 \(status)"))
        #expect(status == "200 " || answer.contains("misdirected-request"))
    }

    /// The deadline counts from the connection's start, not from the last byte.
    @Test(.service { $0.limits.idleTimeout = .milliseconds(500) })
    func `A header that arrives too slowly is refused`() async throws {
        let connection = try RawConnection(port: server.port, sending: "GET /livez HTTP/1.1\r\nHost: localhost\r\nX: ")
        connection.trickle(every: .milliseconds(20))
        #expect(await connection.read().isEmpty)
    }

    /// The deadline, not the idle timer, closes the connection.
    @Test(
        .shared(.service { ($0.limits.requestDeadline, $0.limits.idleTimeout) = (.seconds(2), .seconds(600)) }),
        arguments: [
            (path, "Content-Length: 100\r\n\r\n{", "408 "), ("/none", "Content-Length: 100\r\n\r\n{", "404 "),
            (path, "Content-Length: 99999999999\r\n\r\n", "413 "),
            (path, "Transfer-Encoding: chunked\r\n\r\n" + many("4000\r\n\(many(" ", 0x4000))\r\n", 5), "413 "),
        ]
    )
    func `A body that arrives too slowly or is too large is refused`(_ path: String, _ rest: String, _ status: String)
        async throws
    {
        let fields = "Host: localhost\r\nContent-Type: application/json\r\n"
        let answer = try await server.answer(to: "PUT \(path) HTTP/1.1\r\n\(fields)\(rest)")
        #expect(answer.hasPrefix("HTTP/1.1 \(status)") && answer.components(separatedBy: "HTTP/1.1 ").count == 2)
        #expect(status == "404 " || answer.lowercased().contains("connection: close"))
        #expect(status != "413 " || answer.contains("body-too-large"))
    }

    /// 1 GB: refused after the header, and closed long before its end.
    @Test(arguments: [path, "/livez", "/nowhere"]) func `An unread body is not accepted`(_ path: String) async throws {
        let (connection, length) = (try RawConnection(port: server.port), 1 << 30)
        async let answer = connection.read()
        connection.send("PUT \(path) HTTP/1.1\r\nHost: localhost\r\nContent-Length: \(length)\r\n\r\n")
        let taken = await connection.send([UInt8](repeating: 0x20, count: 1 << 16), times: length >> 16)
        // Includes the buffers of both sockets.
        #expect(taken < 64 << 20, "\(taken)")
        let text = await answer
        #expect(text.hasPrefix("HTTP/1.1 4"), "\(text)")
    }

    @Test func `A caller that expects 100-continue gets it`() async throws {
        let connection = try RawConnection(port: server.port)
        let fields = "Host: localhost\r\nContent-Type: application/json\r\nContent-Length: 14\r\nConnection: close"
        connection.send("PUT \(Self.path)00 HTTP/1.1\r\n\(fields)\r\nExpect: 100-continue\r\n\r\n")
        #expect(await connection.read(until: "\r\n\r\n").hasPrefix("HTTP/1.1 100 "))
        connection.send(#"{"token":"00"}"#)
        #expect(await connection.read().hasPrefix("HTTP/1.1 201 "))
    }

    @Test func `The HEAD of a stream has no body`() async throws {
        let answers = try await server.answer(
            to: "HEAD \(PipeliningTests.path)/aliases/userId/u/activities HTTP/1.1\r\nHost: localhost\r\n"
                + "Accept: application/x-ndjson\r\n\r\n"
                + "GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        ).components(separatedBy: "\r\n\r\n")
        #expect(answers.count == 3 && answers[0].contains("x-ndjson") && answers[1].hasPrefix("HTTP/1.1 200 "))
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
            #expect(!reply.fields.contains { $0.name.canonicalName.hasPrefix("access-control") })
            #expect(reply.fields[.xContentTypeOptions] == "nosniff")
            #expect(reply.fields[.contentSecurityPolicy] == "default-src 'none'; frame-ancestors 'none'")
            #expect(reply.fields[.init("Referrer-Policy")!] == "no-referrer")
        }
    }

    @Test(arguments: [
        ("/", "/docs"), ("/docs/", "/docs"), ("/docs/reference/plans/", "/docs/reference/plans"),
        ("/console/", "/console"),
        ("/console/com.example.food/sandbox/", "/console/com.example.food/sandbox"),
        ("/console/a%0d%0ab/%2F/", "/console/a%0D%0Ab/%2F"), ("/v1/apps/", nil), ("/livez/", nil), ("/none/", nil),
    ])
    func `Only the path of a page with a final slash redirects`(_ path: String, _ target: String?) async throws {
        for method in [HTTPRequest.Method.get, .head] {
            let reply = try await server.call(method, path)
            #expect(reply.status == (target == nil ? 404 : 303) && reply.fields[.location] == target)
        }
        #expect(try await server.call(.post, path).status >= 400)
    }

    private static let site = HTTPField.Name("Sec-Fetch-Site")!

    @Test(
        arguments: [
            ([.origin: "https://evil.example"], false), ([.origin: "null"], false),
            ([.origin: "http://localhost:1"], false), ([site: "cross-site"], false), ([site: "same-site"], false),
            ([site: "cross-site", .origin: "http://localhost"], false), ([:], true),
            ([.origin: "http://localhost"], true), ([site: "same-origin"], true),
            ([site: "same-origin", .origin: "x"], true),
        ] as [(HTTPFields, Bool)]
    )
    func `Pages of other sites cannot make changes, and all others can`(_ fields: HTTPFields, _ isOwn: Bool)
        async throws
    {
        let changes: [(HTTPRequest.Method, String, JSONValue?)] = [
            (.post, "…/release", nil), (.put, "…/activities/b", ["token": .token(1)]),
            (.post, "…/activities/b/release", nil), (.post, "…/resolve", ["aliases": []]),
            (.delete, "…/activities/c", nil),
        ]
        for (method, path, body) in changes {
            let reply = try await server.call(method, path, body, fields)
            #expect(isOwn ? reply.status < 300 : reply.problem == "forbidden", "\(method) \(path)")
        }
        #expect(try await server.call(.get, "…/aliases/userId/u/activities", nil, fields).status == 200)
        #expect(try await server.call(.head, "/v1/apps", nil, fields).status == 200)
    }

    /// Pages of other sites have no credentials.
    @Test(.secureService) func `With credentials, the origin does not matter`() async throws {
        let fields = try await server.key(.admin).fields.with(.origin, "https://evil.example")
        #expect(try await server.call(.post, "…/release", nil, fields).status == 200)
    }

    @Test func `Faults of the query and the body are reported together, without a misplaced token`() async throws {
        let token = String(repeating: "a1", count: 32)
        for (path, body) in [("resolve", ["aliases": 1]), ("plan", ["lease": 1])] as [(String, JSONValue)] {
            let problem = try await server.call(.post, "…/\(path)?include=x", body).problem
            #expect(problem.hasPrefix("invalid-request /include /"), "\(problem)")
        }
        let reply = try await server.call(.put, "…/activities/m", ["token": .token(1), "aliases": .object([token: 1])])
        #expect(reply.status == 422 && !"\(reply.json)".contains(token))
    }
}
