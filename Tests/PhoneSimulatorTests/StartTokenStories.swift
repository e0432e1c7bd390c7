import PushTokenRegistryTestSupport
import Testing

/// Silently stale start tokens, and the switch in Settings.
@Suite(.timeLimit(.minutes(5))) struct StartTokenStories {
    @Test func `Senders get a silently changed start token after the next foreground`() async throws {
        try await Story.tell { story in
            await story.play(.startToken(type: 0, isSilent: false), .startToken(type: 0, isSilent: true), .foreground)
            try await story.agrees()
        }
    }

    @Test func `Senders get a start token that arrives silently 2 seconds after the launch`() async throws {
        try await Story.tell { story in
            await story.play(.kill, .launch(listIsLate: false), .startToken(type: 1, isSilent: true), .time(seconds: 1))
            await story.play(.time(seconds: 1))
            try await story.finds(1, "start-tokens", of: 0)
        }
    }

    @Test func `Switching activities off removes the start tokens, and switching on restores them`() async throws {
        try await Story.tell { story in
            await story.play(.startToken(type: 0, isSilent: false), .activitiesAreSwitched(on: false))
            try await story.finds(0, "start-tokens", of: 0)
            await story.play(.activitiesAreSwitched(on: true))
            try await story.finds(1, "start-tokens", of: 0)
        }
    }

    @Test func `A switch that moved while no app ran is noticed at launch`() async throws {
        try await Story.tell { story in
            await story.play(.startToken(type: 0, isSilent: false), .kill, .activitiesAreSwitched(on: false))
            await story.play(.launch(listIsLate: false))
            try await story.finds(0, "start-tokens", of: 0)
        }
    }

    @Test func `An unchanged start token is confirmed after a day without a launch`() async throws {
        try await Story.tell { story in
            await story.play(.startToken(type: 0, isSilent: false))
            let before = story.life.network.delivered(to: "start-tokens/Delivery")
            await story.play(.time(seconds: 23 * 3600))
            #expect(story.life.network.delivered(to: "start-tokens/Delivery") == before)
            await story.play(.time(seconds: 2 * 3600))
            #expect(story.life.network.delivered(to: "start-tokens/Delivery") == before + 1)
        }
    }
}
