import HTTPTypes
import RegistryCore
import Testing

@testable import RegistryServer

@Suite(.timeLimit(.minutes(15))) struct AcceptTests {
    private static let fields: [(accept: [String], prefersLines: Bool)] = [
        ([], false), ([""], false), (["*/*"], false), (["application/*"], false), (["application/json"], false),
        (["application/x-ndjson"], true), (["Application/X-NDJSON"], true), ([" application/x-ndjson "], true),
        // The field of openapi-generator's Kotlin client.
        (["application/json, application/x-ndjson, application/problem+json"], false),
        (["application/x-ndjson, application/json"], false), (["application/x-ndjson;q=0.5, application/json"], false),
        (["application/json, application/x-ndjson;q=0.5"], false),
        (["application/json;q=0.5, application/x-ndjson"], true),
        (["application/json;q=0.5,application/x-ndjson;q=0.501"], true),
        (["application/x-ndjson, application/problem+json"], true), (["application/x-ndjson, text/html"], true),
        // The most specific range counts.
        (["application/x-ndjson, */*;q=0.1"], true), (["application/x-ndjson;q=0.9, application/*;q=0.8"], true),
        (["application/x-ndjson, */*"], false), (["*/*, application/json;q=0.2"], true),
        (["application/*, application/json;q=0"], true), (["*/*;q=0.1, application/*;q=0, application/x-ndjson"], true),
        (["application/x-ndjson;q=0, */*"], false), (["application/x-ndjson; q=0.0, */*"], false),
        (["application/x-ndjson;q=0"], false), (["application/json;q=0, application/x-ndjson;q=0"], false),
        (["text/html"], false), (["application/json;q=0"], false),
        (["application/x-ndjson;charset=utf-8"], true), (["application/x-ndjson;profile=\"a,b;q=0\";q=1"], true),
        (["application/json;a=\"\\\",application/x-ndjson\""], false),
        (["application/json; Q=0.1, application/x-ndjson"], true),
        // An invalid weight is ignored; several fields form one list.
        (["application/x-ndjson;q=x"], true), (["application/x-ndjson;q=1.5, application/json;q=0.9"], true),
        (["application/json;q=0.5", "application/x-ndjson"], true), ([",,application/x-ndjson,;,"], true),
        (["application/x-ndjsonx"], false), (["application/"], false), (["application/x-ndjson;q=0.1234"], true),
        // At the length limit, and above it.
        (["application/x-ndjson;a=" + String(repeating: "b", count: 1001)], true),
        (["application/x-ndjson;a=" + String(repeating: "b", count: 1002)], false),
    ]

    @Test(arguments: fields) func `Accept is evaluated by RFC 9110`(_ accept: [String], _ prefersLines: Bool) {
        var fields = HTTPFields()
        for value in accept { fields.append(HTTPField(name: .accept, value: value)) }
        #expect(AcceptField.prefersLines(fields) == prefersLines)
    }

    @Test(.service) func `Every route with two media types obeys Accept`() async throws {
        for (accept, prefersLines) in Self.fields {
            var fields = HTTPFields()
            for value in accept { fields.append(HTTPField(name: .accept, value: value)) }
            let reply = try await server.call(.get, "…/aliases/orderId/nobody/activities", nil, fields)
            #expect(reply.status == 200)
            #expect((reply.fields[.contentType] == "application/x-ndjson") == prefersLines, "\(accept)")
        }
    }
}
