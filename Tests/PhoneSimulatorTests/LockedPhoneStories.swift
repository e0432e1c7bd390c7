import PushTokenRegistry
import PushTokenRegistryTestSupport
import Testing

/// iOS launches the app before the first unlock, when neither its file nor its keychain can be read.
@Suite(.timeLimit(.minutes(5))) struct LockedPhoneStories {
    @Test("A log-out that waits in a file that cannot be read outlives a prewarm") func waitingLogOut() async throws {
        try await Story.tell { story in
            await story.play(.deviceToken, .network(.offline), .signOut, .prewarm, .time(seconds: 3), .network(.online))
            await story.play(.unlock, .time(seconds: 10))
            try await story.finds(0, "device-tokens", of: 0)
        }
    }

    @Test("What is seen before the first unlock is told after it") func seenWhileLocked() async throws {
        try await Story.tell { story in
            await story.play(.prewarm)
            let activity = await story.begins()
            try await story.handsOut(activity, false)
            await story.play(.unlock, .time(seconds: 3))
            try await story.agrees()
            // The file knows whose it is, before the app can say so.
            let user = await story.life.users[0]
            #expect(story.life.network.authorities(of: activity.id) == [user])
        }
    }

    @Test("A locked phone's empty list takes nothing away") func emptyWhileLocked() async throws {
        try await Story.tell { story in
            let activity = await story.begins()
            for type in await story.phone.types { type.hides(true) }
            await story.play(.prewarm, .time(seconds: 3), .network(.online), .time(seconds: 60))
            try await story.handsOut(activity)
            for type in await story.phone.types { type.hides(false) }
            await story.play(.unlock, .time(seconds: 3))
            try await story.handsOut(activity)
        }
    }

    @Test("A locked keychain is no reason for another installation") func oneInstallation() async throws {
        try await Story.tell { story in
            await story.play(.deviceToken, .prewarm, .time(seconds: 3), .unlock, .deviceToken, .time(seconds: 3))
            #expect(story.life.network.installations.count == 1)
            try await story.finds(1, "device-tokens", of: 0)
        }
    }
}
