import HTTPTypes
import RegistryCore
import Testing

@testable import RegistryServer

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
        #expect(names.map { match.parameters[$0] } == ["com.example", "sandbox", "k/x", "a/b+c", nil])
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
        let error = #expect(throws: MethodNotAllowed.self) { try Self.table.match(method, RequestTarget(path).parts) }
        #expect(error?.allowed.map(\.rawValue).joined(separator: ", ") == allowed)
    }
}
