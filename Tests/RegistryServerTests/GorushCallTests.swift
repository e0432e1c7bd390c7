import HTTPTypes
import RegistryCore
import TestSupport
import Testing

@testable import RegistryServer

@Suite(.service, .timeLimit(.minutes(15))) struct GorushCallTests {
    private static let token = Hexadecimal.encode(PushToken.sample(1).bytes)

    /// A request body as gorush 1.18 writes it.
    private static func post(
        _ error: String,
        token: String = token,
        platform: String = "ios",
        type: String = "failed-push"
    ) -> JSONValue {
        [
            "notif_id": "", "type": .string(type), "platform": .string(platform), "token": .string(token),
            "message": "Welcome", "error": .string(error),
        ]
    }

    @Test func `A post without information about a token is ignored and counted`() async throws {
        try await server.register("a-1", token: 1)
        let masked = "00000000**********abababab"
        for (post, reason) in [
            (Self.post("Unregistered", platform: "android"), "platform"),
            (Self.post("", type: "succeeded-push"), "type"),
            (Self.post("Unregistered", token: masked), "masked-token"), (Self.post(""), "no-error"),
        ] {
            let answer = try await server.call(.post, "…/feedback/gorush", post)
            #expect(answer.status == 200)
            #expect(answer["action"] == "ignored")
            let metrics = try await server.call(.get, "/metrics").text
            #expect(metrics.contains("pushreg_gorush_posts_ignored_total{reason=\"\(reason)\"} 1"))
        }
        #expect(try await server.call(.get, "…/activities/a-1")["token"] != .null)
    }
}
