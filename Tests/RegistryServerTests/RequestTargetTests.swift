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
}
