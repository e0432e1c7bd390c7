import HTTPTypes
import RegistryCore
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
