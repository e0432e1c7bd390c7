import Foundation
import HTTPTypes
import Logging
import PostgresDriver
import RegistryCore
import RegistryStore
import TestSupport
import Testing

@testable import RegistryServer

/// Frequent calls, alone and one behind the other on one connection.
@Suite(.timeLimit(.minutes(15))) struct HotCallTests {
    static let path = "/v1/apps/com.example.food/sandbox"

    static func put(_ id: String, _ body: String, type: String = "application/json") -> [String] {
        send("PUT", "activities/\(id)", body, type)
    }

    private static func resolve(_ body: String, type: String = "application/json") -> [String] {
        send("POST", "resolve", body, type)
    }

    static func send(_ method: String, _ call: String, _ body: String, _ type: String) -> [String] {
        ["\(method) \(path)/\(call)", "Content-Type: \(type)\r\nContent-Length: \(body.utf8.count)", body]
    }

    static func get(_ alias: String, _ fields: String = "Accept: application/json") -> [String] {
        ["GET \(path)/aliases/\(alias)", fields, ""]
    }

    private static let observed = #""observedAt":"\#(RFC3339.format(.minutesAgo(5)))""#
    private static let earlier = #""observedAt":"\#(RFC3339.format(.minutesAgo(9)))""#

    /// Requests of hot routes and their statuses, in an order in which each finds the same on a new database.
    static let requests: [(request: [String], status: Int)] = [
        (put("a-1", #"{"token":"aa01","aliases":{"orderId":"o-1"},\#(observed)}"#), 201),
        (put("a-1", #"{"token":"aa01",\#(observed)}"#), 200),
        (put("a-1", #"{"token":"aa00",\#(earlier)}"#), 409),
        (put("a-2", #"{"token":"aa02","aliases":{"orderId":["o-1","o 2"]}}"#), 201),
        (put("a%2F3", #"{"token":"aa03"}"#), 201),
        (put("a-4", #"{"token":"xyz","installationId":7}"#), 422),
        (put("a-4", #"{"token":"#), 400),
        (put("a-4", #"{"token":"aa04"}"#, type: "text/plain"), 415),
        (put("a-4", ""), 400),
        (put("%00", #"{"token":"aa04"}"#), 422),
        (get("orderId/o-1/activities"), 200),
        (get("orderId/o%202/activities?limit=1"), 200),
        (get("orderId/o-1/activities?limit=1"), 200),
        (get("orderId/o-1/activities?limit=0"), 422),
        (get("orderId/o-1/activities?cursor=none"), 422),
        (get("orderId/nobody/activities"), 200),
        (get("0/x/activities"), 422),
        (
            resolve(
                #"{"aliases":[{"kind":"orderId","value":"o-1"},{"kind":"0"},7,{"kind":"orderId","value":"o-9"}],"#
                    + #""limitPerAlias":1}"#
            ), 200
        ),
        (resolve(#"{"aliases":[]}"#), 200),
        (resolve(#"{"aliases":"o-1"}"#), 422),
        (resolve(#"{"aliases":["#), 400),
        (resolve(#"{"aliases":[]}"#, type: "text/plain"), 415),
        (resolve(""), 400),
        // Too large for the event loop.
        (resolve(#"{"aliases":[\#(String(repeating: " ", count: 65_536))]}"#), 200),
        // Answered in chunks; what follows is not.
        (get("orderId/o-1/activities", "Accept: application/x-ndjson"), 200),
        (get("orderId/o-1/activities"), 200),
        (put("a-1", #"{"token":"aa01",\#(observed)}"#), 200),
    ]

    /// The bytes of a request, named by its place.
    static func text(_ request: [String], _ number: Int, last: Bool) -> String {
        let closing = last ? "Connection: close\r\n" : ""
        let head = "\(request[0]) HTTP/1.1\r\nHost: localhost\r\nRequest-Id: r-\(number)\r\n\(closing)\(request[1])"
        return "\(head)\r\n\r\n\(request[2])"
    }

    /// The answers to all requests, on one connection at once or each on its own, with what is the same each time.
    private static func answers(from server: LiveServer, oneByOne: Bool) async throws -> [String] {
        var answers: [String] = []
        if oneByOne {
            for (number, (request, _)) in requests.enumerated() {
                let connection = try RawConnection(port: server.port)
                connection.send(text(request, number, last: false))
                connection.finishSending()
                answers.append(await connection.read())
            }
        } else {
            let connection = try RawConnection(port: server.port)
            let texts = requests.enumerated().map { text($1.request, $0, last: $0 == requests.count - 1) }
            connection.send(texts.joined())
            answers = split(await connection.read())
        }
        return answers.map(normalized)
    }

    static func split(_ text: String) -> [String] {
        let parts = text.components(separatedBy: "HTTP/1.1 ")
        return parts.dropFirst().map { "HTTP/1.1 " + $0 }
    }

    /// Header fields in one order; times of receipt and names of Postgres's making left out.
    static func normalized(_ answer: String) -> String {
        let halves = answer.components(separatedBy: "\r\n\r\n")
        let lines = halves[0].components(separatedBy: "\r\n")
        let fields = lines.dropFirst().filter { !$0.lowercased().hasPrefix("date:") }.sorted()
        let body = halves.dropFirst().joined()
            .replacing(/"(confirmedAt|expiresAt|startedAt|observedAt|serverTime)":"[^"]*"/) { "\"\($0.1)\":\"…\"" }
            .replacing(/"nextCursor":"[^"]*"/, with: #""nextCursor":"…""#)
        return ([lines[0]] + fields + [body]).joined(separator: "\n")
    }

    static func run(
        _ adjust: (inout ServerConfiguration.Limits) -> Void = { _ in },
        _ test: @Sendable (LiveServer) async throws -> Void
    ) async throws { try await LiveServer.run(adjust, test) }

    @Test(arguments: [true, false])
    func `Pipelined requests get the responses of single ones`(oneByOne: Bool) async throws {
        let answers = ResponseBox()
        try await Self.run { answers.set(try await Self.answers(from: $0, oneByOne: oneByOne)) }
        #expect(answers.answers.count == Self.requests.count)
        for (index, request) in Self.requests.enumerated() {
            let answer = try #require(answers.answers.indices.contains(index) ? answers.answers[index] : nil)
            #expect(answer.hasPrefix("HTTP/1.1 \(request.status) "), "\(request.request): \(answer)")
            #expect(answer.contains("Request-Id: r-\(index)"))
        }
    }

    /// A proxy's connection carries the requests of many: what one of them bears is not the next one's.
    @Test func `Each request uses its own credential`() async throws {
        let database = try await TestDatabase.make()
        _ = try await database.scope()
        try await LiveServer.run(on: database.registry, insecureNoAuth: false) { server in
            let (first, second) = (try await server.key(.sender), try await server.key(.sender))
            let client = try await server.key(.client)
            let mistyped = String(first.fields[.authorization]!.dropLast()) + "?"
            let bearers = [
                first.fields, first.fields, second.fields, client.fields, [.authorization: mistyped],
                first.fields + first.fields, [:], first.fields,
            ]
            let requests = bearers.enumerated().map { number, fields in
                let lines = fields.map { "\($0.name.rawName): \($0.value)" }.joined(separator: "\r\n")
                let get = Self.get("orderId/o-1/activities", lines.isEmpty ? "X-None: 1" : lines)
                return Self.text(get, number, last: number == bearers.count - 1)
            }
            // The second time all that can be known of the keys is known.
            for _ in 0..<2 {
                let connection = try RawConnection(port: server.port)
                connection.send(requests.joined())
                let answers = Self.split(await connection.read())
                #expect(
                    answers.map { $0.dropFirst(9).prefix(3) } == [
                        "200", "200", "200", "403", "401", "401", "401", "200",
                    ]
                )
            }
        }
    }

    @Test func `A caller that closed its side gets the response`() async throws {
        try await Self.run { server in
            let connection = try RawConnection(port: server.port)
            connection.send(Self.text(Self.get("orderId/o-1/activities"), 1, last: false))
            connection.finishSending()
            #expect(await connection.read().hasPrefix("HTTP/1.1 200 "))
        }
    }

    /// More input than one read takes would reset a connection that is closed at once, and the caller would lose both responses.
    @Test func `The responses before and to a fault arrive despite many bytes after it`() async throws {
        try await Self.run { server in
            let connection = try RawConnection(port: server.port)
            let next = String(repeating: Self.text(Self.get("orderId/o-1/activities"), 2, last: false), count: 200)
            connection.send(
                Self.text(Self.put("a-1", #"{"token":"aa01"}"#), 1, last: false) + "put / HTTP/1.1\r\n\r\n" + next
            )
            let answers = Self.split(await connection.read())
            #expect(answers.map { $0.prefix(12) } == ["HTTP/1.1 201", "HTTP/1.1 400"])
        }
    }

    @Test func `Input that is not HTTP waits for the response before it`() async throws {
        try await Self.run { server in
            let connection = try RawConnection(port: server.port)
            connection.send(Self.text(Self.put("a-1", #"{"token":"aa01"}"#), 1, last: false) + "NONSENSE\r\n\r\n")
            let answers = Self.split(await connection.read())
            #expect(answers.map { $0.prefix(12) } == ["HTTP/1.1 201", "HTTP/1.1 400"])
        }
    }

    /// Nothing is read while it waits behind the other; from then on it is.
    @Test func `The rest of a body that waited for an earlier response is read`() async throws {
        try await Self.run { server in
            let connection = try RawConnection(port: server.port)
            let next = Self.text(Self.put("a-2", #"{"token":"aa02"}"#), 2, last: false)
            connection.send(Self.text(Self.put("a-1", #"{"token":"aa01"}"#), 1, last: false) + next.dropLast(4))
            #expect(await connection.read(until: "}").hasPrefix("HTTP/1.1 201 "))
            connection.send(String(next.suffix(4)))
            #expect(await connection.read(until: "}").hasPrefix("HTTP/1.1 201 "))
        }
    }

    @Test func `A reader that stops reading gets no further responses`() async throws {
        let adjust = { (limits: inout ServerConfiguration.Limits) in limits.stalledReader = .seconds(4) }
        try await Self.run(adjust) { (server: LiveServer) async throws in
            for number in 0..<200 {
                let body = #"{"token":"\#(String(format: "%04x", number))","aliases":{"orderId":"o"}}"#
                let connection = try RawConnection(port: server.port)
                connection.send(Self.text(Self.put("a-\(number)", body), number, last: true))
                #expect(await connection.read().hasPrefix("HTTP/1.1 201 "))
            }
            // Some 60 KB for each request: 12 MB, which no buffers hold. What follows them is not done.
            let connection = try RawConnection(port: server.port, receiveBuffer: 4096)
            let requests = (0..<200).map { Self.text(Self.get("orderId/o/activities?limit=1000"), $0, last: false) }
            connection.send(requests.joined() + Self.text(Self.put("late", #"{"token":"ffff"}"#), 200, last: false))
            // Blocks until the service has closed the connection.
            _ = await connection.send([UInt8](repeating: 0x20, count: 65_536), times: 2000)
            #expect(try await server.call(.get, "…/activities/late").status == 404)
        }
    }

    @Test func `A chunked response is complete before the next begins`() async throws {
        try await Self.run { server in
            let connection = try RawConnection(port: server.port)
            let path = "orderId/nobody/activities"
            connection.send(Self.text(Self.get(path, "Accept: application/x-ndjson"), 1, last: false))
            #expect(await connection.read(until: "\r\n0\r\n\r\n").contains(#""count":0"#))
            connection.send(Self.text(Self.get(path), 2, last: false))
            connection.finishSending()
            let answer = await connection.read()
            #expect(answer.hasPrefix("HTTP/1.1 200 "))
            #expect(answer.hasSuffix("}"))
        }
    }

    @Test func `After a call an unread body is cut off`() async throws {
        try await Self.run { server in
            let connection = try RawConnection(port: server.port)
            connection.send(Self.text(Self.get("orderId/nobody/activities"), 1, last: false))
            #expect(await connection.read(until: "}").hasPrefix("HTTP/1.1 200 "))
            connection.send("POST /nowhere HTTP/1.1\r\nHost: localhost\r\nContent-Length: 655360000\r\n\r\n")
            #expect(await connection.send([UInt8](repeating: 0x20, count: 65_536), times: 10_000) < 655_360_000)
        }
    }

    @Test func `Dates have the format of HTTP`() {
        #expect(HTTPDate.format(784_111_777) == "Sun, 06 Nov 1994 08:49:37 GMT")
        #expect(HTTPDate.format(1_709_251_199) == "Thu, 29 Feb 2024 23:59:59 GMT")
    }
}

/// Answers that a closure hands out.
final class ResponseBox: @unchecked Sendable {
    private let lock = NSLock()
    private var all: [String] = []
    var answers: [String] { lock.withLock { all } }
    func set(_ answers: [String]) { lock.withLock { all = answers } }
    func add(_ answer: String) { lock.withLock { all.append(answer) } }
}
