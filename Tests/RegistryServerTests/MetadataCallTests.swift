import HTTPTypes
import RegistryCore
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

    private static func register(_ server: LiveServer, _ phone: Int, osVersion: String) async throws {
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
        try await Self.register(server, 1, osVersion: "17.6")
        try await Self.register(server, 2, osVersion: "18.1")
        let (ndjson, json): (HTTPFields, HTTPFields) = ([.accept: "application/x-ndjson"], [:])
        let aliases: JSONValue = ["aliases": [["kind": "liveactivityId", "value": "order-42"]]]
        let update: JSONValue = [
            "alias": ["kind": "liveactivityId", "value": "order-42"], "attributesType": "Delivery",
        ]
        for query in ["", "?include=metadata"] {
            var replies: [Reply] = []
            for list in Self.lists {
                replies.append(try await server.call(.get, "…/aliases/\(list)\(query)", nil, json))
            }
            replies.append(try await server.call(.get, "…/aliases/\(Self.lists[0])\(query)", nil, ndjson))
            replies.append(try await server.call(.post, "…/resolve\(query)", aliases))
            replies.append(try await server.call(.post, "…/plan\(query)", Self.plan))
            replies.append(try await server.call(.post, "…/plan\(query)", update))
            for reply in replies {
                let text = reply.text
                #expect(reply.status == 200, "\(text)")
                for version in ["17.6", "18.1"] {
                    let metadata = #""installationMetadata":{"locale":"de_DE","osVersion":"\#(version)"}"#
                    #expect(text.contains(metadata) == !query.isEmpty, "\(text)")
                }
                #expect(
                    text.contains(#""metadata":{"seat":2}"#) == (!query.isEmpty && text.contains("a-2")),
                    "\(text)"
                )
            }
        }
        let wrong = try await server.call(.get, "…/aliases/\(Self.lists[0])?include=all")
        #expect(wrong.problem == "invalid-request /include")
    }

    @Test func `A start by channel is offered to phones with iOS 18`() async throws {
        try await Self.register(server, 1, osVersion: "17.6")
        try await Self.register(server, 2, osVersion: "18.1")
        func channels() async throws -> [JSONValue] {
            let plan = try await server.call(.post, "…/plan", Self.plan)["installations"]
            #expect(plan.all("action") == ["start", "start"] && plan.all("installationMetadata") == [.null, .null])
            for lease in plan.all("leaseId").compactMap(\.string) {
                _ = try await server.call(.delete, "…/plan/leases/\(lease)")
            }
            return plan.all("channelId")
        }
        #expect(try await channels() == [.null, .null])
        let channel: JSONValue = ["channelId": "dHN0LXNyY2gtY2hubA==", "messageStoragePolicy": 1]
        _ = try await server.call(.put, "…/aliases/liveactivityId/order-43/channel", channel)
        #expect(Set(try await channels()) == [.null, "dHN0LXNyY2gtY2hubA=="])
    }
}
