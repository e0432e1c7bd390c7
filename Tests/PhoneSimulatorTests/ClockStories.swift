import PushTokenRegistryTestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct ClockStories {
    @Test(arguments: [-200_000.0, -3600, 3600, 200_000])
    func `Senders get the last token, even after a wrong clock`(_ ahead: Double) async throws {
        try await Story.tell { story in
            let activity = await story.beginActivity()
            await story.play(.clock(ahead: ahead))
            await story.life.tokenComes(to: activity)
            await story.play(.time(seconds: 10), .clock(ahead: 0), .tokenRotates(0, .streamed), .time(seconds: 10))
            try await story.agrees()
        }
    }

    /// In hours.
    private static let wrongClocks = [
        "hours behind": -10.0, "days behind": -72, "years behind": -87_600, "hours ahead": 5,
    ]

    /// The simulated time is close to the service's time, so that both agree whether an activity has expired.
    private static func firstContact(_ body: @escaping @Sendable (Story) async throws -> Void) async throws {
        try await Story.tell(headStart: .seconds(2 * 3600), lifetime: "PT8H") { story in
            await story.play(.signOut, .time(seconds: 3), .newPhoneFromBackup)
            try await body(story)
        }
    }

    @Test(arguments: wrongClocks.keys.sorted()) func `C21: at first contact a wrong clock costs one request`(
        _ clock: String
    ) async throws {
        let ahead = try #require(Self.wrongClocks[clock]) * 3600
        try await Self.firstContact { story in
            await story.play(.clock(ahead: ahead), .network(.offline), .launch(listIsLate: false))
            let activity = await story.beginActivity()
            let start = story.life.clock.rightTime
            // The report must not be sent with the time of this step.
            await story.play(.time(seconds: 1200), .network(.online), .time(seconds: 300))
            try await story.agrees()
            #expect(story.life.network.delivered(to: activity.id) == 2)
            await story.play(.tokenRotates(0, .streamed))
            let rotation = story.life.clock.rightTime
            await story.play(.time(seconds: 3))
            try await story.agrees()
            try await story.knows(activity, "startedAt", at: start)
            try await story.knows(activity, "observedAt", at: rotation)
        }
    }

    @Test(arguments: wrongClocks.keys.sorted())
    func `C21: at first contact a sign-in with a wrong clock gets correct times`(_ clock: String) async throws {
        let ahead = try #require(Self.wrongClocks[clock]) * 3600
        try await Self.firstContact { story in
            await story.play(.clock(ahead: ahead), .launch(listIsLate: false))
            await story.phone.signIn(story.life.users[1])
            let activity = await story.beginActivity()
            let start = story.life.clock.rightTime
            await story.play(.time(seconds: 3))
            try await story.agrees()
            for member in ["startedAt", "observedAt"] { try await story.knows(activity, member, at: start) }
        }
    }

    @Test(arguments: [-5.0, 5])
    func `C21: a wrong time is still corrected after offline attempts`(_ hours: Double) async throws {
        try await Self.firstContact { story in
            await story.play(.clock(ahead: hours * 3600), .network(.offline), .launch(listIsLate: false))
            await story.phone.signIn(story.life.users[1])
            let activity = await story.beginActivity()
            let start = story.life.clock.rightTime
            for _ in 1...20 { await story.play(.time(seconds: 61)) }
            await story.play(.tokenRotates(0, .streamed))
            let rotation = story.life.clock.rightTime
            for _ in 1...5 { await story.play(.time(seconds: 61)) }
            await story.play(.network(.online), .time(seconds: 300))
            try await story.agrees()
            try await story.knows(activity, "startedAt", at: start)
            try await story.knows(activity, "observedAt", at: rotation)
        }
    }

    @Test func `A clock that is set back while the app is dead does not make a new token older`() async throws {
        try await Story.tell { story in
            let activity = await story.beginActivity()
            // After a restart the monotonic clock does not show that the wall clock was set.
            await story.play(.network(.offline), .tokenRotates(0, .streamed), .restart, .clock(ahead: -50_000), .unlock)
            await story.play(.tokenRotates(0, .silent), .network(.online), .launch(listIsLate: false))
            try await story.handsOut(activity)
            await story.play(.time(seconds: 300))
            try await story.agrees()
        }
    }
}
