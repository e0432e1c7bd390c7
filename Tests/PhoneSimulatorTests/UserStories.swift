import Foundation
import PushTokenRegistry
import PushTokenRegistryTestSupport
import Testing

/// Changes of users, restored phones, and several processes.
@Suite(.timeLimit(.minutes(5))) struct UserStories {
    @Test func `A log-out leaves nothing of the former user, even if reports waited`() async throws {
        try await Story.tell { story in
            await story.play(.network(.offline), .deviceToken, .startToken(type: 0, isSilent: false), .signOut)
            await story.play(.network(.online), .time(seconds: 10))
            try await story.finds(0, "device-tokens", of: 0)
            try await story.finds(0, "start-tokens", of: 0)
        }
    }

    @Test func `An activity with a waiting registration at a log-out never goes to the next user`() async throws {
        try await Story.tell { story in
            await story.play(.network(.offline))
            let activity = await story.beginActivity()
            await story.play(.signIn(1), .network(.online), .time(seconds: 10))
            try await story.handsOut(activity, false)
            try await story.knows(activity, as: "ended")
        }
    }

    @Test(arguments: [true, false])
    func `An activity with its first token after the next sign-in belongs to no user`(isToldFirst: Bool) async throws {
        try await Story.tell { story in
            let activity = await story.life.begin(hasToken: false)
            if isToldFirst { await story.play(.foreground) }
            await story.play(.signIn(1), .time(seconds: 10))
            await story.tokenComes(to: activity)
            await story.play(.foreground, .time(seconds: 10))
            try await story.handsOut(activity, false)
            try await story.knows(activity, as: "ended")
        }
    }

    @Test func `The former user or the installation reports an activity's end, never the next user`() async throws {
        try await Story.tell { story in
            let activity = await story.beginActivity()
            await story.play(.network(.offline), .activityEnds(0), .signIn(1), .network(.online), .time(seconds: 10))
            try await story.knows(activity, as: "ended")
            let users = await story.life.users
            #expect(!story.life.network.authorities(of: activity.id).contains(users[1]))
        }
    }

    @Test func `The next user has the phone's tokens, and the former user has none`() async throws {
        try await Story.tell { story in
            await story.play(.deviceToken, .startToken(type: 0, isSilent: false), .signIn(1), .time(seconds: 3))
            try await story.agrees()
            try await story.finds(1, "device-tokens", of: 1)
        }
    }

    @Test func `A report waits for its user's JWT and is sent with no other credential`() async throws {
        try await Story.tell { story in
            await story.play(.session(.none))
            let activity = await story.beginActivity()
            try await story.handsOut(activity, false)
            await story.play(.session(.valid), .time(seconds: 40))
            try await story.agrees()
            let user = await story.life.users[0]
            #expect(story.life.network.authorities(of: activity.id) == [user])
        }
    }

    @Test func `An expired JWT is replaced, and no report is lost`() async throws {
        try await Story.tell { story in
            await story.play(.session(.expired))
            _ = await story.beginActivity()
            await story.play(.session(.valid), .time(seconds: 300))
            try await story.agrees()
        }
    }

    @Test func `A phone restored from a backup is a new installation and sends none of the old reports`() async throws {
        try await Story.tell { story in
            await story.play(.network(.offline), .deviceToken)
            let activity = await story.beginActivity()
            await story.play(.newPhoneFromBackup, .network(.online), .foreground, .deviceToken, .time(seconds: 3))
            try await story.handsOut(activity, false)
            #expect(story.life.network.installations.count == 2)
            try await story.finds(1, "device-tokens", of: 0)
        }
    }
}
