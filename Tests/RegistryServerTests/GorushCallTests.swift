import HTTPTypes
import RegistryCore
import TestSupport
import Testing

@testable import RegistryServer

@Suite(.service, .timeLimit(.minutes(15))) struct GorushCallTests {
    @Test func `A post without information about a token is ignored and counted`() async throws {
        try await server.register("a-1", token: 1)
        // Request bodies as gorush 1.18 writes them.
        let failed: JSONObject = [
            "notif_id": "", "type": "failed-push", "platform": "ios", "token": .token(1), "message": "Welcome",
            "error": "Unregistered",
        ]
        for (change, reason) in [
            (["platform": "android"], "platform"), (["type": "succeeded-push", "error": ""], "type"),
            (["token": "00000000**********abababab"], "masked-token"), (["error": ""], "no-error"),
        ] as [(JSONObject, String)] {
            let answer = try await server.call(.post, "…/feedback/gorush", .object(failed.overlaid(by: change)))
            #expect(answer.status == 200 && answer["action"] == "ignored")
            let series = "pushreg_gorush_posts_ignored_total{reason=\"\(reason)\"}"
            #expect(try await server.measurements()[series] == 1)
        }
        #expect(try await server.call(.get, "…/activities/a-1")["token"] != .null)
    }
}
