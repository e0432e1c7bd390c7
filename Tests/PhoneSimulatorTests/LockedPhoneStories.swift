import PushTokenRegistry
import PushTokenRegistryTestSupport
import Testing

/// iOS launches the app before the first unlock, when file and keychain are unreadable.
@Suite(.timeLimit(.minutes(5))) struct LockedPhoneStories {
    @Test func `A log-out in an unreadable file outlives a launch before the first unlock`() async throws {
        try await Story.tell { story in
            await story.play(.deviceToken, .network(.offline), .signOut, .prewarm, .time(seconds: 3), .network(.online))
            await story.play(.unlock, .time(seconds: 10))
            try await story.finds(0, "device-tokens", of: 0)
        }
    }

    @Test func `Activities seen before the first unlock are reported after it`() async throws {
        try await Story.tell { story in
            await story.play(.prewarm)
            let activity = await story.beginActivity()
            try await story.handsOut(activity, false)
            await story.play(.unlock, .time(seconds: 3))
            try await story.agrees()
            // The file contains the user before the app signs in.
            let user = await story.life.users[0]
            #expect(story.life.network.authorities(of: activity.id) == [user])
        }
    }

    @Test func `A locked phone's empty list removes no activity`() async throws {
        try await Story.tell { story in
            let activity = await story.beginActivity()
            for type in await story.phone.types { type.setHidden(true) }
            await story.play(.prewarm, .time(seconds: 3), .network(.online), .time(seconds: 60))
            try await story.handsOut(activity)
            for type in await story.phone.types { type.setHidden(false) }
            await story.play(.unlock, .time(seconds: 3))
            try await story.handsOut(activity)
        }
    }

    @Test func `A locked keychain does not lead to a second installation`() async throws {
        try await Story.tell { story in
            await story.play(.deviceToken, .prewarm, .time(seconds: 3), .unlock, .deviceToken, .time(seconds: 3))
            #expect(story.life.network.installations.count == 1)
            try await story.finds(1, "device-tokens", of: 0)
        }
    }
}
