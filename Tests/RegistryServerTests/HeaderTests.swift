import HTTPTypes
import RegistryCore
import Testing

@testable import RegistryServer

@Suite struct HeaderTests {
    @Test(arguments: ["a", "9f1c2d3e-4b5a", "!~", String(repeating: "x", count: 128)])
    func `Request ids of callers are kept`(_ id: String) { #expect(RequestID.choose(id) == id) }

    @Test(arguments: [nil, "", "a b", "a\tb", "caf\u{e9}", "a\u{7F}", String(repeating: "x", count: 129)])
    func `Other requests get an id`(_ given: String?) {
        let id = RequestID.choose(given)
        #expect(id != given)
        #expect(id.utf8.count == 32)
        #expect(Hexadecimal.decode(id)?.count == 16)
        #expect(id != RequestID.choose(given))
    }

    @Test(arguments: [
        "application/json", "Application/JSON", " application/json ", "application/json;charset=utf-8",
        "application/json; charset=\"UTF-8\"", "application/json; version=1", "application/json;",
        "application/json;charset=utf8", "application/json; charset=\"UTF8\"",
    ])
    func `JSON media types are accepted`(_ type: String) throws { try BodyReader.checkMediaType([.contentType: type]) }

    @Test(arguments: [
        nil, "", "text/plain", "application/x-www-form-urlencoded", "application/json; charset=latin1",
        "application/jsonx", "application/json, text/plain", "application/*", "application/merge-patch+json",
    ])
    func `Other media types are refused`(_ type: String?) {
        var fields: HTTPFields = [:]
        fields[.contentType] = type
        let problem = #expect(throws: Problem.self) { try BodyReader.checkMediaType(fields) }
        #expect(problem?.code == .unsupportedMediaType)
    }

    @Test func `A charset other than UTF-8 is named`() {
        let fields: HTTPFields = [.contentType: "application/json; charset=latin1"]
        let problem = #expect(throws: Problem.self) { try BodyReader.checkMediaType(fields) }
        #expect(problem?.detail.hasPrefix("The charset latin1 is not supported. Send JSON in UTF-8") == true)
    }

    @Test func `Compressed bodies are refused`() {
        let fields: HTTPFields = [.contentType: "application/json", .contentEncoding: "gzip"]
        #expect(throws: Problem.self) { try BodyReader.checkMediaType(fields) }
    }
}
