import HTTPTypes
import RegistryCore
import TestSupport
import Testing

@testable import RegistryServer

/// Metadata in responses to senders that request it.
@Suite(.service, .timeLimit(.minutes(15))) struct MetadataCallTests {
    private static let lists = [
        "liveactivityId/order-42/activities", "userId/u-7/start-tokens", "userId/u-7/device-tokens",
        "userId/u-7/tokens/widget",
    ]
    private static let plan: JSONValue = [
        "alias": ["kind": "liveactivityId", "value": "order-43"], "to": [["kind": "userId", "value": "u-7"]],
        "attributesType": "Delivery",
    ]

    private static func register(_ phone: Int, osVersion: String) async throws {
        let path = "…/installations/phone-\(phone)"
        let profile: JSONValue = [
            "aliases": ["userId": "u-7"], "metadata": ["osVersion": .string(osVersion), "locale": "de_DE"],
        ]
        #expect(try await server.call(.put, path, profile).status == 201)
        for (slot, kind) in ["start-tokens/Delivery", "device-token", "tokens/widget"].enumerated() {
            let token = JSONValue.token(100 * phone + slot)
            #expect(try await server.call(.put, "\(path)/\(kind)", ["token": token]).status == 201)
        }
        let activity: JSONValue = [
            "token": .token(phone), "aliases": ["liveactivityId": "order-42"],
            "metadata": ["seat": .integer(Int64(phone))],
            "installationId": .string("phone-\(phone)"),
        ]
        #expect(try await server.call(.put, "…/activities/a-\(phone)", activity).status == 201)
    }

    @Test func `Lists, resolve and plan have metadata on request only`() async throws {
        try await Self.register(1, osVersion: "17.6")
        try await Self.register(2, osVersion: "18.1")
        let aliases: JSONValue = ["aliases": [["kind": "liveactivityId", "value": "order-42"]]]
        let update: JSONValue = [
            "alias": ["kind": "liveactivityId", "value": "order-42"], "attributesType": "Delivery",
        ]
        for query in ["", "?include=metadata"] {
            var texts = [
                try await server.call(
                    .get,
                    "…/aliases/\(Self.lists[0])\(query)",
                    nil,
                    [.accept: "application/x-ndjson"]
                ),
                try await server.call(.post, "…/resolve\(query)", aliases),
                try await server.call(.post, "…/plan\(query)", Self.plan),
                try await server.call(.post, "…/plan\(query)", update),
            ].map(\.text)
            for list in Self.lists { texts.append(try await server.call(.get, "…/aliases/\(list)\(query)").text) }
            for text in texts {
                for version in ["17.6", "18.1"] {
                    let metadata = #""installationMetadata":{"locale":"de_DE","osVersion":"\#(version)"}"#
                    #expect(text.contains(metadata) == !query.isEmpty, "\(text)")
                }
                let hasSeat = !query.isEmpty && text.contains("a-2")
                #expect(text.contains(#""metadata":{"seat":2}"#) == hasSeat, "\(text)")
            }
        }
    }
}
