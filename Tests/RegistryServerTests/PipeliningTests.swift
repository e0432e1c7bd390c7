import HTTPTypes
import RegistryCore
import TestSupport
import Testing

@testable import RegistryServer

@Suite(.timeLimit(.minutes(15))) struct PipeliningTests {
    static let path = "/v1/apps/com.example.food/sandbox"

    static func put(_ id: String, _ body: String, type: String = "application/json") -> [String] {
        send("PUT", "activities/\(id)", body, type)
    }

    private static func send(
        _ method: String,
        _ call: String,
        _ body: String,
        _ type: String = "application/json"
    ) -> [String] {
        ["\(method) \(path)/\(call)", "Content-Type: \(type)\r\nContent-Length: \(body.utf8.count)", body]
    }

    static func get(_ alias: String, _ fields: String = "Accept: application/json") -> [String] {
        ["GET \(path)/aliases/\(alias)", fields, ""]
    }

    /// Requests and their statuses, in an order that is repeatable on a new database.
    static let requests: [(request: [String], status: Int)] = [
        (put("a-1", #"{"token":"aa01","aliases":{"orderId":"o-1"}}"#), 201),
        (put("a%2F3", #"{"token":"aa03"}"#), 201),
        (put("a-4", #"{"token":"xyz","installationId":7}"#), 422),
        (put("a-4", #"{"token":"#), 400),
        (put("a-4", #"{"token":"aa04"}"#, type: "text/plain"), 415),
        (put("a-4", ""), 400),
        (get("orderId/o-1/activities"), 200),
        // Too large for the event loop.
        (send("POST", "resolve", #"{"aliases":[\#(String(repeating: " ", count: 65_536))]}"#), 200),
        // This response is chunked, the next one is not.
        (get("orderId/o-1/activities", "Accept: application/x-ndjson"), 200),
        (get("orderId/o-1/activities"), 200),
        (put("a-1", #"{"token":"aa01"}"#), 200),
    ]

    /// The bytes of a request, with its index as id.
    static func text(_ request: [String], _ number: Int, last: Bool) -> String {
        let closing = last ? "Connection: close\r\n" : ""
        let head = "\(request[0]) HTTP/1.1\r\nHost: localhost\r\nRequest-Id: r-\(number)\r\n\(closing)\(request[1])"
        return "\(head)\r\n\r\n\(request[2])"
    }

    static func split(_ text: String) -> [String] { text.split(separator: "HTTP/1.1 ").map { "HTTP/1.1 " + $0 } }

    @Test(.service) func `Pipelined requests get their responses in order`() async throws {
        let texts = Self.requests.enumerated().map { Self.text($1.request, $0, last: $0 == Self.requests.count - 1) }
        let answers = Self.split(try await server.answer(to: texts.joined()))
        try #require(answers.count == Self.requests.count)
        for (index, request) in Self.requests.enumerated() {
            let answer = answers[index]
            #expect(answer.hasPrefix("HTTP/1.1 \(request.status) "), "\(request.request): \(answer)")
            #expect(answer.contains("Request-Id: r-\(index)"))
        }
    }

    @Test(.secureService) func `Each request uses its own credential`() async throws {
        let (first, second) = (try await server.key(.sender).fields, try await server.key(.sender).fields)
        let mistyped: HTTPFields = [.authorization: String(first[.authorization]!.dropLast()) + "?"]
        let client = try await server.key(.client).fields
        let bearers = [first, first, second, client, mistyped, first + first, [:], first]
        let requests = bearers.enumerated().map { number, fields in
            let lines = fields.map { "\($0.name.rawName): \($0.value)" }.joined(separator: "\r\n")
            let get = Self.get("orderId/o-1/activities", lines.isEmpty ? "X-None: 1" : lines)
            return Self.text(get, number, last: number == bearers.count - 1)
        }
        let statuses = ["200", "200", "200", "403", "401", "401", "401", "200"]
        for _ in 0..<2 {
            let answers = Self.split(try await server.answer(to: requests.joined()))
            #expect(answers.map { String($0.dropFirst(9).prefix(3)) } == statuses)
        }
    }

    /// Closing a connection with unread input would reset it, and the caller would lose both responses. The last fault is a missing host.
    @Test(.service, arguments: ["put / HTTP/1.1", "NONSENSE", "GET /livez HTTP/1.1"])
    func `Responses before a fault and to it arrive even if many bytes follow the fault`(_ fault: String) async throws {
        let first = Self.text(Self.put("a-1", #"{"token":"aa01"}"#), 1, last: false)
        let next = String(repeating: Self.text(Self.get("orderId/o-1/activities"), 2, last: false), count: 200)
        let answers = Self.split(try await server.answer(to: "\(first)\(fault)\r\n\r\n\(next)"))
        #expect(answers.map { $0.prefix(12) } == ["HTTP/1.1 201", "HTTP/1.1 400"])
        #expect(answers[1].contains("Request-Id: ") && answers[1].contains(#""code":"malformed-request""#))
        #expect(answers[1].hasSuffix("}"))
    }

    /// Reading pauses while the request waits for an earlier response, and resumes afterwards.
    @Test(.service) func `The rest of a body that waited for an earlier response is read`() async throws {
        let connection = try RawConnection(port: server.port)
        let next = Self.text(Self.put("a-2", #"{"token":"aa02"}"#), 2, last: false)
        connection.send(Self.text(Self.put("a-1", #"{"token":"aa01"}"#), 1, last: false) + next.dropLast(4))
        #expect(await connection.read(until: "}").hasPrefix("HTTP/1.1 201 "))
        connection.send(String(next.suffix(4)))
        #expect(await connection.read(until: "}").hasPrefix("HTTP/1.1 201 "))
    }

    @Test(.service { $0.limits.stalledReader = .seconds(4) })
    func `A reader that stops reading gets no further responses`() async throws {
        for number in 0..<200 {
            let body: JSONValue = ["token": .token(number), "aliases": ["orderId": "o"]]
            #expect(try await server.call(.put, "…/activities/a-\(number)", body).status == 201)
        }
        // About 60 KB per request, 12 MB in total: more than all buffers. The service ignores the bytes after them.
        let connection = try RawConnection(port: server.port, receiveBuffer: 4096)
        let requests = (0..<200).map { Self.text(Self.get("orderId/o/activities?limit=1000"), $0, last: false) }
        connection.send(requests.joined() + Self.text(Self.put("late", #"{"token":"ffff"}"#), 200, last: false))
        // Blocks until the service closes the connection.
        _ = await connection.send([UInt8](repeating: 0x20, count: 65_536), times: 2000)
        #expect(try await server.call(.get, "…/activities/late").status == 404)
    }

    @Test func `Dates have the format of HTTP`() {
        #expect(HTTPDate.format(784_111_777) == "Sun, 06 Nov 1994 08:49:37 GMT")
        #expect(HTTPDate.format(1_709_251_199) == "Thu, 29 Feb 2024 23:59:59 GMT")
    }
}
