import HTTPTypes
import RegistryCore
import RegistryStore
import TestSupport
import Testing

@testable import RegistryServer

@Suite struct AcceptTests {
    @Test(
        arguments: [
            ([], false), ([""], false), (["*/*"], false), (["application/*"], false), (["application/json"], false),
            (["application/x-ndjson"], true), (["Application/X-NDJSON"], true), ([" application/x-ndjson "], true),
            // The field of openapi-generator's Kotlin client.
            (["application/json, application/x-ndjson, application/problem+json"], false),
            (["application/x-ndjson, application/json"], false),
            (["application/x-ndjson;q=0.5, application/json"], false),
            (["application/json, application/x-ndjson;q=0.5"], false),
            (["application/json;q=0.5, application/x-ndjson"], true),
            (["application/json;q=0.5,application/x-ndjson;q=0.501"], true),
            (["application/x-ndjson, application/problem+json"], true), (["application/x-ndjson, text/html"], true),
            // The most specific range counts.
            (["application/x-ndjson, */*;q=0.1"], true), (["application/x-ndjson;q=0.9, application/*;q=0.8"], true),
            (["application/x-ndjson, */*"], false), (["*/*, application/json;q=0.2"], true),
            (["application/*, application/json;q=0"], true),
            (["*/*;q=0.1, application/*;q=0, application/x-ndjson"], true),
            (["application/x-ndjson;q=0, */*"], false), (["application/x-ndjson; q=0.0, */*"], false),
            (["application/x-ndjson;q=0"], false), (["application/json;q=0, application/x-ndjson;q=0"], false),
            (["text/html"], false), (["application/json;q=0"], false),
            (["application/x-ndjson;charset=utf-8"], true),
            (["application/x-ndjson;profile=\"a,b;q=0\";q=1"], true),
            (["application/json;a=\"\\\",application/x-ndjson\""], false),
            (["application/json; Q=0.1, application/x-ndjson"], true),
            // An invalid weight is ignored; several fields form one list.
            (["application/x-ndjson;q=x"], true), (["application/x-ndjson;q=1.5, application/json;q=0.9"], true),
            (["application/json;q=0.5", "application/x-ndjson"], true), ([",,application/x-ndjson,;,"], true),
            (["application/x-ndjsonx"], false), (["application/"], false), (["application/x-ndjson;q=0.1234"], true),
            // At the length limit, and above it.
            (["application/x-ndjson;a=" + String(repeating: "b", count: 1001)], true),
            (["application/x-ndjson;a=" + String(repeating: "b", count: 1002)], false),
        ] as [([String], Bool)]
    )
    func `Accept is evaluated by RFC 9110`(_ accept: [String], _ prefersLines: Bool) {
        var fields = HTTPFields()
        fields[values: .accept] = accept
        #expect(AcceptField.prefersLines(fields) == prefersLines)
    }

    @Test(arguments: ["a", "9f1c2d3e-4b5a", "!~", String(repeating: "x", count: 128)])
    func `Request ids of callers are kept`(_ id: String) { #expect(RequestID.choose(id) == id) }

    @Test(arguments: [nil, "", "a b", "a\tb", "caf\u{e9}", "a\u{7F}", String(repeating: "x", count: 129)])
    func `Other requests get an id`(_ given: String?) {
        let id = RequestID.choose(given)
        #expect(id != given && id != RequestID.choose(given))
        #expect(id.utf8.count == 32 && Hexadecimal.decode(id)?.count == 16)
    }

    @Test(
        arguments: [
            ("application/json", true), ("Application/JSON", true), (" application/json ", true),
            ("application/json;charset=utf-8", true), ("application/json; charset=\"UTF-8\"", true),
            ("application/json; version=1", true), ("application/json;", true),
            ("application/json;charset=utf8", true), ("application/json; charset=\"UTF8\"", true),
            (nil, false), ("", false), ("text/plain", false), ("application/x-www-form-urlencoded", false),
            ("application/json; charset=latin1", false), ("application/jsonx", false),
            ("application/json, text/plain", false), ("application/*", false), ("application/merge-patch+json", false),
        ] as [(String?, Bool)]
    )
    func `Bodies are JSON in UTF-8`(_ type: String?, _ isAccepted: Bool) {
        var fields: HTTPFields = [:]
        fields[.contentType] = type
        let problem = Self.problem(fields)
        #expect(problem?.code == (isAccepted ? nil : .unsupportedMediaType))
        guard type?.contains("latin1") == true else { return }
        #expect(problem?.detail.hasPrefix("The charset latin1 is not supported. Send JSON in UTF-8") == true)
    }

    @Test func `Compressed bodies are refused`() {
        #expect(Self.problem([.contentType: "application/json", .contentEncoding: "gzip"]) != nil)
    }

    private static func problem(_ fields: HTTPFields) -> Problem? {
        do {
            try BodyReader.checkMediaType(fields)
            return nil
        } catch { return error }
    }
}

@Suite struct RequestTargetTests {
    @Test(arguments: [
        ("/livez", ["livez"]), ("/", [""]), ("/livez/", ["livez", ""]), ("/v1//apps", ["v1", "", "apps"]),
        ("/a%2Fb/c", ["a/b", "c"]), ("/a+b", ["a+b"]), ("/a%2Bb", ["a+b"]), ("/%2525", ["%25"]), ("/..", [".."]),
        ("/%2e%2E/x", ["..", "x"]), ("/caf%C3%A9", ["café"]), ("/%F0%9F%8D%95", ["🍕"]), ("/a%00b", ["a\0b"]),
        ("/%EF%BB%BFa", ["\u{FEFF}a"]),
        ("/a?b/c", ["a"]), ("/a;b=c", ["a;b=c"]), ("//evil.example/x", ["", "evil.example", "x"]),
    ])
    func `A path is split first and decoded once`(_ raw: String, _ parts: [String]) throws {
        #expect(try RequestTarget(raw).parts == parts)
    }

    @Test(arguments: [
        "", "*", "livez", "http://localhost/livez", "/%", "/%4", "/%zz", "/%G0", "/a%2", "/%C3", "/%C3%28", "/%FF",
        "/%ED%A0%80", "/%C0%AF", "/caf\u{e9}", "/\u{FFFD}", "/a b", "/a\u{7F}", "/x?%", "/x?a=%C3", "/x?%zz=1",
    ])
    func `A malformed target is refused`(_ raw: String) {
        let problem = #expect(throws: Problem.self) { try RequestTarget(raw) }
        #expect(problem?.code == .malformedPath)
    }

    @Test(arguments: [
        ("/x", "a", []), ("/x?", "a", []), ("/x?a", "a", [""]), ("/x?a=", "a", [""]), ("/x?a=1&b=2", "a", ["1"]),
        ("/x?a=1&a=2", "a", ["1", "2"]), ("/x?&&a=1&", "a", ["1"]), ("/x?a=b=c", "a", ["b=c"]),
        ("/x?a=1+1", "a", ["1+1"]), ("/x?a=b%26c", "a", ["b&c"]), ("/x?%61=1", "a", ["1"]),
        ("/x?a=2026-11-21T08:30:00+01:00", "a", ["2026-11-21T08:30:00+01:00"]), ("/x?a=?", "a", ["?"]),
    ])
    func `A query is split and decoded`(_ raw: String, _ name: String, _ values: [String]) throws {
        #expect(try RequestTarget(raw).query[name] == values)
    }

    private static let table = RouteTable(Route.all)

    @Test func `A route returns its path parameters`() throws {
        let path = "/v1/apps/com.example/sandbox/aliases/k%2Fx/a%2Fb+c/activities"
        let match = try Self.table.match(.get, RequestTarget(path).parts)
        let names = ["bundleId", "environment", "kind", "value", "activityId"]
        #expect(names.map { match[$0] } == ["com.example", "sandbox", "k/x", "a/b+c", nil])
    }

    @Test(arguments: [
        "/", "/v1", "/v2/apps", "/v1/apps/", "/v1/apps//sandbox/activities", "/livez/", "//livez", "/LIVEZ",
        "/v1/apps/a/sandbox", "/v1/apps/a/sandbox/activities/", "/v1/apps/a/sandbox/activities/x/y",
        "/v1/apps/a/sandbox/aliases/k//activities", "/docs", "/console", "/v1/apps/a/keys/",
        "/v1/apps/a/sandbox/reports", "/v1/apps/a%2Fsandbox/activities",
    ])
    func `An unknown path has no route`(_ path: String) {
        let problem = #expect(throws: Problem.self) { try Self.table.match(.get, RequestTarget(path).parts) }
        #expect(problem?.code == .noSuchRoute)
    }

    @Test(arguments: [
        (HTTPRequest.Method.post, "/livez", "GET, HEAD"),
        (.patch, "/v1/apps/a/sandbox/activities/x", "DELETE, GET, HEAD, PUT"),
        (.get, "/v1/apps/a/sandbox/activities", "DELETE, POST"),
        (.head, "/v1/apps/a/sandbox/resolve", "POST"),
        (.options, "/v1/apps", "GET, HEAD"),
        (.get, "/v1/apps/a/sandbox/installations/i/activities", "PUT"),
    ])
    func `A path lists its methods`(_ method: HTTPRequest.Method, _ path: String, _ allowed: String) {
        let refusal = #expect(throws: Refusal.self) { try Self.table.match(method, RequestTarget(path).parts) }
        #expect(refusal?.fields[.allow] == allowed)
    }
}

@Suite struct ProblemResponseTests {
    private func answer(_ error: any Error) throws -> (fields: HTTPFields, status: Int, body: JSONValue) {
        let answer = Response(Problem(error, logger: .silent), requestID: "r-1")
        return (answer.fields, answer.status.code, try JSONParser.parse(answer.bytes))
    }

    @Test func `Waits are rounded up to seconds`() throws {
        var limited = Problem(.tooManyRequests, "")
        limited.retryAfter = .milliseconds(2500)
        #expect(try answer(limited).fields[.retryAfter] == "3")
    }

    @Test func `Other errors reveal nothing`() throws {
        struct Secret: Error, CustomStringConvertible { let description = "token deadbeef" }
        let (_, status, body) = try answer(Secret())
        #expect(status == 500)
        #expect(!body.description.contains("deadbeef"))
        #expect(try answer(CancellationError()).status == 503)
        #expect(try answer(JSONSyntaxError(offset: 3, detail: "is odd")).status == 400)
    }
}

@Suite struct CursorTests {
    private let alias = Alias.sample("userId", "u-7")
    private let scope = Self.scope("com.example.food", .sandbox)

    private static func scope(_ bundleID: String, _ environment: APNSEnvironment) -> Scope {
        Scope(app: .sample(bundleID), environment: environment)
    }

    private func encode(_ number: Int64) -> String {
        ListPosition(number: number).cursor(of: alias.list("activities"), in: scope)
    }

    private func decode(_ text: String, of alias: Alias? = nil, in scope: Scope? = nil) throws -> Int64 {
        let list = (alias ?? self.alias).list("activities")
        return try ListPosition(cursor: text, of: list, in: scope ?? self.scope, "this alias").number
    }

    private func isRefused(_ text: String, of alias: Alias? = nil, in scope: Scope? = nil) -> Bool {
        (try? decode(text, of: alias, in: scope)) == nil
    }

    @Test(arguments: [0, 1, 42, 1 << 40, Int64.max]) func `A cursor survives a round trip`(_ number: Int64) throws {
        let text = encode(number)
        #expect(try decode(text) == number)
        #expect(text.wholeMatch(of: /[A-Za-z0-9_-]+/) != nil)
    }

    @Test func `Every altered character of a cursor is detected`() {
        let text = Array(encode(1234).utf8)
        for position in text.indices {
            for replacement in "AZaz09-_=+/ ".utf8 where replacement != text[position] {
                var altered = text
                altered[position] = replacement
                #expect(isRefused(String(decoding: altered, as: UTF8.self)))
            }
        }
    }

    @Test func `A text that is not a cursor, or a cursor of another length, is detected`() {
        let text = encode(7)
        for other in [
            "", "x", "MTAw", "====", "null", String(repeating: "A", count: 34), String(repeating: "A", count: 4096),
            text + "=", text + "A", String(text.dropLast()), " " + text,
        ] { #expect(isRefused(other), "\(other)") }
    }

    @Test func `A cursor is valid only for its alias`() {
        let text = encode(7)
        #expect(isRefused(text, of: .sample("userId", "u-8")) && isRefused(text, of: .sample("userid", "u-7")))
        #expect(isRefused(text, in: Self.scope("com.example.food", .production)))
        #expect(isRefused(text, in: Self.scope("com.example.foo", .sandbox)))
    }
}
