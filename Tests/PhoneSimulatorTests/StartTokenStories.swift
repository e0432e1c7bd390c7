import PushTokenRegistryTestSupport
import Testing

/// The start token, which nobody hears of when it goes stale, and the switch in Settings.
@Suite(.timeLimit(.minutes(5))) struct StartTokenStories {
    @Test("A start token that changed in silence is handed out once the app is in the foreground")
    func silentChange() async throws {
        try await Story.tell { story in
            await story.play(.startToken(type: 0, isSilent: false), .startToken(type: 0, isSilent: true), .foreground)
            try await story.agrees()
        }
    }

    @Test("A start token that comes two seconds after the launch, in silence, is handed out")
    func lateToken() async throws {
        try await Story.tell { story in
            await story.play(.kill, .launch(listIsLate: false), .startToken(type: 1, isSilent: true), .time(seconds: 1))
            await story.play(.time(seconds: 1))
            try await story.finds(1, "start-tokens", of: 0)
        }
    }

    @Test("Activities that are switched off in Settings take the start tokens back; switched on, they are there again")
    func switchedOff() async throws {
        try await Story.tell { story in
            await story.play(.startToken(type: 0, isSilent: false), .activitiesAreSwitched(on: false))
            try await story.finds(0, "start-tokens", of: 0)
            await story.play(.activitiesAreSwitched(on: true))
            try await story.finds(1, "start-tokens", of: 0)
        }
    }

    @Test("The switch is looked at, though it was moved while no app ran") func switchedOffUnseen() async throws {
        try await Story.tell { story in
            await story.play(.startToken(type: 0, isSilent: false), .kill, .activitiesAreSwitched(on: false))
            await story.play(.launch(listIsLate: false))
            try await story.finds(0, "start-tokens", of: 0)
        }
    }

    @Test("The same start token is confirmed again after a day, without any launch") func confirmedDaily() async throws
    {
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
