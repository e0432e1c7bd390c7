import HTTPTypes
import RegistryCore
import Testing

@testable import RegistryServer

@Suite struct HeaderTests {
    @Test(
        "Request ids of callers are taken",
        arguments: ["a", "9f1c2d3e-4b5a", "!~", String(repeating: "x", count: 128)]
    )
    func requestIDsAreTaken(_ id: String) { #expect(RequestID.choose(id) == id) }

    @Test(
        "Other requests get an id",
        arguments: [nil, "", "a b", "a\tb", "caf\u{e9}", "a\u{7F}", String(repeating: "x", count: 129)]
    )
    func orMade(_ given: String?) {
        let id = RequestID.choose(given)
        #expect(id != given)
        #expect(id.utf8.count == 32 && Hexadecimal.decode(id)?.count == 16)
        #expect(id != RequestID.choose(given))
    }

    @Test(
        "Media types of JSON are read",
        arguments: [
            "application/json", "Application/JSON", " application/json ", "application/json;charset=utf-8",
            "application/json; charset=\"UTF-8\"", "application/json; version=1", "application/json;",
        ]
    )
    func jsonIsRead(_ type: String) throws {
        try BodyReader.checkMediaType([.contentType: type])
    }

    @Test(
        "Other media types are refused",
        arguments: [
            nil, "", "text/plain", "application/x-www-form-urlencoded", "application/json; charset=latin1",
            "application/jsonx", "application/json, text/plain", "application/*", "application/merge-patch+json",
        ]
    )
    func othersAreNot(_ type: String?) {
        var fields: HTTPFields = [:]
        fields[.contentType] = type
        let problem = #expect(throws: Problem.self) { try BodyReader.checkMediaType(fields) }
        #expect(problem?.code == .unsupportedMediaType)
    }

    @Test("Compressed bodies are refused") func compressionIsNot() {
        let fields: HTTPFields = [.contentType: "application/json", .contentEncoding: "gzip"]
        #expect(throws: Problem.self) { try BodyReader.checkMediaType(fields) }
    }
}
