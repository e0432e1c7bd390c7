import HTTPTypes
import RegistryCore
import TestSupport
import Testing

/// The check must fail where a response differs from the document.
@Suite struct ConformanceCheckTests {
    private static func faults(of reply: Reply, of operation: String = "getActivity") -> [String] {
        var conformance = Conformance(.embedded)
        return conformance.check(reply, of: operation)
    }

    private static func reply(_ status: Int, _ mediaType: String?, _ body: JSONValue?) -> Reply {
        var fields: HTTPFields = [.cacheControl: "no-store"]
        fields[HTTPField.Name("Request-Id")!] = "r-1"
        fields[.contentType] = mediaType
        return Reply(status: status, fields: fields, body: body?.jsonBytes ?? [])
    }

    private static let problem: JSONObject = [
        "type": "urn:push-token-registry:problem:activity-not-found", "title": "The activity is unknown", "status": 404,
        "detail": "Nothing is known of it.", "code": "activity-not-found", "requestId": "r-1",
    ]

    private static func refusal(_ changes: JSONObject) -> Reply {
        var members = problem
        for change in changes { members[change.key] = change.value }
        return reply(404, "application/problem+json", .object(members))
    }

    @Test func `A documented response passes and is counted`() {
        var conformance = Conformance(.embedded)
        #expect(conformance.check(Self.refusal([:]), of: "getActivity") == [])
        #expect(conformance.given.map(\.description) == ["getActivity 404 activity-not-found"])
        #expect(conformance.given.isSubset(of: conformance.documented))
        #expect(conformance.check(Self.reply(204, nil, nil), of: "endActivity") == [])
    }

    @Test(
        arguments: [
            ["status": 405], ["code": "superseded"], ["code": "unheard-of"], ["title": "Oh"], ["type": "about:blank"],
            ["requestId": "r-2"], ["detail": .null], ["more": 1], ["observedAt": "yesterday"],
        ] as [JSONObject]
    )
    func `A problem that contradicts the document or itself is a fault`(changes: JSONObject) {
        #expect(Self.faults(of: Self.refusal(changes)) != [])
    }

    @Test func `Another status, media type or body is a fault`() {
        #expect(Self.faults(of: Self.reply(418, nil, nil)) == ["the status 418 is not documented"])
        #expect(Self.faults(of: Self.reply(404, "application/json", .object(Self.problem))) != [])
        #expect(Self.faults(of: Self.reply(404, "application/problem+json", nil)) != [])
        #expect(Self.faults(of: Self.reply(200, "application/json", ["activityId": "x"])) != [])
        #expect(Self.faults(of: Self.reply(204, nil, [:]), of: "endActivity") == ["the body is not empty"])
    }

    @Test(arguments: ["Request-Id", "Cache-Control"])
    func `A missing or wrong header is a fault`(name: String) throws {
        var reply = Self.reply(204, nil, nil)
        reply.fields[try #require(HTTPField.Name(name))] = nil
        #expect(Self.faults(of: reply, of: "endActivity") == ["the header \(name) is missing"])
        reply = Self.reply(204, nil, nil)
        reply.fields[.cacheControl] = "public"
        #expect(Self.faults(of: reply, of: "endActivity") != [])
    }
}
