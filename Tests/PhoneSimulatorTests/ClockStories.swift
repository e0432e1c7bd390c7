import PushTokenRegistryTestSupport
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

    /// In hours.
    private static let wrongClocks = [
        "hours behind": -10.0, "days behind": -72, "years behind": -87_600, "hours ahead": 5,
    ]

    /// The phone's world is so close to the service's that both agree on an activity that is over.
    private static func firstContact(_ body: @escaping @Sendable (Story) async throws -> Void) async throws {
        try await Story.tell(headStart: .seconds(2 * 3600), lifetime: "PT8H") { story in
            await story.play(.signOut, .time(seconds: 3), .newPhoneFromBackup)
            try await body(story)
        }
    }

    @Test("C21: at first contact a wrong clock costs one request", arguments: wrongClocks.keys.sorted())
    func firstContact(_ clock: String) async throws {
        let ahead = try #require(Self.wrongClocks[clock]) * 3600
        try await Self.firstContact { story in
            await story.play(.clock(ahead: ahead), .network(.offline), .launch(listIsLate: false))
            let activity = await story.begins()
            try await story.notes(activity)
            let start = story.life.clock.rightTime
            // The present time is wrong by now.
            await story.play(.time(seconds: 1200), .network(.online), .time(seconds: 300))
            try await story.agrees()
            #expect(story.life.network.delivered(to: activity.id) == 2)
            await story.play(.tokenRotates(0, .told))
            let rotation = story.life.clock.rightTime
            await story.play(.time(seconds: 3))
            try await story.agrees()
            try await story.knows(activity, "startedAt", at: start)
            try await story.knows(activity, "observedAt", at: rotation)
        }
    }

    @Test("C21: the same of a user who signs in", arguments: wrongClocks.keys.sorted())
    func firstContactOfAUser(_ clock: String) async throws {
        let ahead = try #require(Self.wrongClocks[clock]) * 3600
        try await Self.firstContact { story in
            await story.play(.clock(ahead: ahead), .launch(listIsLate: false))
            await story.phone.signIn(story.life.users[1])
            let activity = await story.begins()
            let start = story.life.clock.rightTime
            await story.play(.time(seconds: 3))
            try await story.agrees()
            for member in ["startedAt", "observedAt"] { try await story.knows(activity, member, at: start) }
        }
    }

    @Test("C21: tries of a phone that was offline fix no time of its wrong clock", arguments: [-5.0, 5])
    func firstContactAfterOffline(_ hours: Double) async throws {
        try await Self.firstContact { story in
            await story.play(.clock(ahead: hours * 3600), .network(.offline), .launch(listIsLate: false))
            await story.phone.signIn(story.life.users[1])
            let activity = await story.begins()
            try await story.notes(activity)
            let start = story.life.clock.rightTime
            for _ in 1...20 { await story.play(.time(seconds: 61)) }
            await story.play(.tokenRotates(0, .told))
            try await story.notes(activity)
            let rotation = story.life.clock.rightTime
            for _ in 1...5 { await story.play(.time(seconds: 61)) }
            await story.play(.network(.online), .time(seconds: 300))
            try await story.agrees()
            try await story.knows(activity, "startedAt", at: start)
            try await story.knows(activity, "observedAt", at: rotation)
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
