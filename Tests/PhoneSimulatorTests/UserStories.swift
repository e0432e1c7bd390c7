import Foundation
import PushTokenRegistry
import PushTokenRegistryTestSupport
import Testing

/// Users who come and go, and phones and processes that are not alone.
@Suite(.timeLimit(.minutes(5))) struct UserStories {
    @Test("Nothing of the last user is left after a log-out, though reports waited") func logOut() async throws {
        try await Story.tell { story in
            await story.play(.network(.offline), .deviceToken, .startToken(type: 0, isSilent: false), .signOut)
            await story.play(.network(.online), .time(seconds: 10))
            try await story.finds(0, "device-tokens", of: 0)
            try await story.finds(0, "start-tokens", of: 0)
        }
    }

    @Test func `An activity that waited to be registered at a log-out is never the next user's`() async throws {
        try await Story.tell { story in
            await story.play(.network(.offline))
            let activity = await story.begins()
            await story.play(.signIn(1), .network(.online), .time(seconds: 10))
            try await story.handsOut(activity, false)
            try await story.knows(activity, as: "ended")
        }
    }

    @Test("An activity whose first token comes after the next user signed in is nobody's", arguments: [true, false])
    func tokenAfterTheNextUser(isToldFirst: Bool) async throws {
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

    @Test("The end of the last user's activity is told by them or by the phone, and never by the next user")
    func lastUsersEnd() async throws {
        try await Story.tell { story in
            let activity = await story.begins()
            await story.play(.network(.offline), .activityEnds(0), .signIn(1), .network(.online), .time(seconds: 10))
            try await story.knows(activity, as: "ended")
            let users = await story.life.users
            #expect(!story.life.network.authorities(of: activity.id).contains(users[1]))
        }
    }

    @Test("The next user has the phone's tokens, and the last one has none") func submitted() async throws {
        try await Story.tell { story in
            await story.play(.deviceToken, .startToken(type: 0, isSilent: false), .signIn(1), .time(seconds: 3))
            try await story.agrees()
            try await story.finds(1, "device-tokens", of: 1)
        }
    }

    @Test func `A report waits for its own user's JWT, and goes out under no other credential`() async throws {
        try await Story.tell { story in
            await story.play(.session(.none))
            let activity = await story.begins()
            try await story.handsOut(activity, false)
            await story.play(.session(.valid), .time(seconds: 40))
            try await story.agrees()
            let user = await story.life.users[0]
            #expect(story.life.network.authorities(of: activity.id) == [user])
        }
    }

    @Test("A JWT that has expired is replaced, and nothing is lost") func expired() async throws {
        try await Story.tell { story in
            await story.play(.session(.expired))
            _ = await story.begins()
            await story.play(.session(.valid), .time(seconds: 300))
            try await story.agrees()
        }
    }

    @Test("A phone that got another one's backup is an installation of its own, and tells nothing of the other's")
    func restoredBackup() async throws {
        try await Story.tell { story in
            await story.play(.network(.offline), .deviceToken)
            let activity = await story.begins()
            await story.play(.newPhoneFromBackup, .network(.online), .foreground, .deviceToken, .time(seconds: 3))
            try await story.handsOut(activity, false)
            #expect(story.life.network.installations.count == 2)
            try await story.finds(1, "device-tokens", of: 0)
        }
    }
}
