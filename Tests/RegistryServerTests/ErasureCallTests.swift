import HTTPTypes
import RegistryCore
import TestSupport
import Testing

@testable import RegistryServer

@Suite(.timeLimit(.minutes(15))) struct ErasureCallTests {
    @Test("An erasure takes all that bears an alias") func erasesWhatBearsAnAlias() async throws {
        try await LiveServer.run { (server: LiveServer) async throws in
            for number in 1...2 { try await server.register("a-\(number)", token: number) }
            try await server.register("b", token: 3, alias: "order-43")
            let body: JSONValue = ["alias": ["kind": "liveactivityId", "value": "order-42"]]
            let reply = try await server.call(.post, "…/erasures", body)
            #expect(reply.status == 200 && reply["activities"] == 2 && reply["events"] == 2)
            #expect(try await server.call(.get, "…/activities/a-1").status == 404)
            #expect(try await server.call(.get, "…/activities/b")["token"] == .token(3))
            let again = try await server.register("a-1", token: 1)
            #expect(again.status == 410 && again.problem == "activity-ended")
            #expect(again["serverTime"] != .null)
            #expect(try await server.call(.delete, "…/activities/a-1").status == 204)
            #expect(try await server.call(.get, "…/activities/a-1").status == 404)
        }
    }

    @Test(
        "An erasure names exactly one thing",
        arguments: [
            [:], ["subject": .null], ["subject": "a", "installationId": "b"], ["alias": ["kind": "1", "value": "x"]],
            ["subject": ""], ["installationId": 7],
        ] as [JSONValue]
    )
    func namesExactlyOne(body: JSONValue) async throws {
        try await LiveServer.run { (server: LiveServer) async throws in
            let reply = try await server.call(.post, "…/erasures", body)
            #expect(reply.status == 422)
        }
    }
}
