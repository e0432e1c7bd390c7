import HTTPTypes
import RegistryCore
import TestSupport
import Testing

@testable import RegistryServer

/// The posts that gorush makes to its `feedback_hook_url` for each push that failed.
@Suite(.timeLimit(.minutes(15))) struct GorushCallTests {
    private static let token = Hexadecimal.encode(PushToken.sample(1).bytes)

    /// A post as gorush 1.18 writes it.
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

    @Test("A token that gorush reports as unregistered is dropped, and another error keeps it") func reports()
        async throws
    {
        try await LiveServer.run { server in
            try await server.register("a-1", token: 1)
            let path = "…/feedback/gorush"
            for error in ["TooManyRequests", "dial tcp: lookup api.push.apple.com: no such host"] {
                let kept = try await server.call(.post, path, Self.post(error))
                #expect(kept.status == 200 && kept["action"] == "kept")
            }
            let dropped = try await server.call(.post, path, Self.post("Unregistered"))
            #expect(dropped.status == 200 && dropped["action"] == "dropped")
            #expect(try await server.call(.get, "…/activities/a-1")["token"] == .null)
        }
    }

    @Test("A token that is called bad is quarantined, not dropped") func quarantine() async throws {
        try await LiveServer.run { server in
            try await server.register("a-1", token: 1)
            let answer = try await server.call(.post, "…/feedback/gorush", Self.post("BadDeviceToken"))
            #expect(answer.status == 200 && answer["action"] == "quarantined")
        }
    }

    @Test(
        "A post that says nothing of a token of ours is answered 200, changes nothing, and is counted with its reason"
    )
    func ignored() async throws {
        try await LiveServer.run { server in
            try await server.register("a-1", token: 1)
            let masked = "00000000**********abababab"
            for (post, reason) in [
                (Self.post("Unregistered", platform: "android"), "platform"),
                (Self.post("", type: "succeeded-push"), "type"),
                (Self.post("Unregistered", token: masked), "masked-token"), (Self.post(""), "no-error"),
            ] {
                let answer = try await server.call(.post, "…/feedback/gorush", post)
                #expect(answer.status == 200 && answer["action"] == "ignored")
                let metrics = String(decoding: try await server.call(.get, "/metrics").bytes, as: UTF8.self)
                #expect(metrics.contains("pushreg_gorush_posts_ignored_total{reason=\"\(reason)\"} 1"))
            }
            #expect(try await server.call(.get, "…/activities/a-1")["token"] != .null)
        }
    }

    @Test("A body that is no post of gorush is refused with what is wrong") func malformed() async throws {
        try await LiveServer.run { server in
            let none = try await server.call(.post, "…/feedback/gorush", ["type": "failed-push"])
            #expect(none.status == 422 && none.problem == "invalid-request /platform")
            let odd = try await server.call(.post, "…/feedback/gorush", Self.post("Unregistered", token: "no hex"))
            #expect(odd.status == 422)
            // Also where its post would be ignored.
            let number: JSONValue = ["type": "failed-push", "platform": "android", "token": 1]
            #expect(try await server.call(.post, "…/feedback/gorush", number).problem == "invalid-request /token")
        }
    }
}
