import RegistryClientTestSupport
import Testing

/// Wrong clocks, which must not turn the order of events around.
@Suite(.timeLimit(.minutes(5))) struct ClockStories {
    @Test("The last token is handed out, however wrong the clock was", arguments: [-200_000.0, -3600, 3600, 200_000])
    func wrongClock(_ ahead: Double) async throws {
        try await Story.tell { story in
            let activity = await story.begins()
            await story.play(.clock(ahead: ahead))
            await story.life.tokenComes(to: activity)
            await story.play(.time(seconds: 10), .clock(ahead: 0), .tokenRotates(0, .told), .time(seconds: 10))
            try await story.agrees()
        }
    }

    @Test("A clock that was set back while the app was dead does not make a new token older than the last one")
    func setBackWhileDead() async throws {
        try await Story.tell { story in
            let activity = await story.begins()
            // A new start of the phone: no monotonic clock tells that the wall clock was set.
            await story.play(.network(.offline), .tokenRotates(0, .told), .restart, .clock(ahead: -50_000), .unlock)
            await story.play(.tokenRotates(0, .silent), .network(.online), .launch(listIsLate: false))
            try await story.handsOut(activity)
            await story.play(.time(seconds: 300))
            try await story.agrees()
        }
    }

    @Test func `A clock that was wrong before the registry was ever heard of is put right`() async throws {
        try await Story.tell { story in
            await story.play(.newPhoneFromBackup, .clock(ahead: 90_000), .network(.offline), .launch(listIsLate: false))
            _ = await story.begins()
            await story.play(.tokenRotates(0, .told), .network(.online), .time(seconds: 300), .foreground)
            try await story.agrees()
        }
    }
}
