import PushTokenRegistryTestSupport
import PushTokenRegistry
import TestSupport
import Testing

/// C19: the system sends in place of an app that sleeps or is dead.
@Suite(.timeLimit(.minutes(5))) struct SleepStories {
    @Test func `A token that changed before the background arrives, even if the app never runs again`() async throws {
        try await Story.tell { story in
            let activity = await story.beginActivity()
            await story.play(.network(.offline))
            await story.tokenComes(to: activity)
            await story.play(.background, .kill, .network(.online), .time(seconds: 1800), .handedOverOnesGo(50))
            try await story.handsOut(activity)
        }
    }

    @Test func `A token that wakes an offline app arrives, even if the app never runs again`() async throws {
        try await Story.tell { story in
            let activity = await story.beginActivity()
            await story.play(.background, .network(.offline))
            await story.tokenComes(to: activity)
            try await until { await story.phone.system.backgroundTasks > 0 }
            await story.life.suspend()
            await story.play(.kill, .network(.online), .time(seconds: 1800), .handedOverOnesGo(50))
            try await story.handsOut(activity)
        }
    }

    @Test func `Duplicates from the system change nothing, even after a rotation or an end`() async throws {
        try await Story.tell { story in
            let (rotating, ending) = (await story.beginActivity(), await story.beginActivity())
            await story.play(.network(.offline))
            await story.tokenComes(to: rotating)
            await story.tokenComes(to: ending)
            await story.play(.deviceToken, .background, .network(.online), .foreground, .handedOverOnesGo(2))
            try await story.agrees()
            await story.tokenComes(to: rotating)
            ending.change(to: .dismissed)
            await story.phone.rest()
            await story.play(.deviceToken, .time(seconds: 1800), .handedOverOnesGo(50), .handedOverOnesGo(50))
            try await story.handsOut(rotating)
            try await story.handsOut(ending, false)
            try await story.agrees()
        }
    }

    @Test func `Reports submitted before a log-out keep their user and revive nothing after it`() async throws {
        try await Story.tell { story in
            let known = await story.beginActivity()
            await story.play(.network(.offline))
            let unknown = await story.beginActivity()
            await story.tokenComes(to: known)
            await story.play(.deviceToken, .startToken(type: 0, isSilent: false), .background, .foreground)
            await story.play(.network(.online), .signIn(1), .time(seconds: 10), .handedOverOnesGo(50))
            for activity in [known, unknown] {
                try await story.handsOut(activity, false)
                try await story.knows(activity, as: "ended")
            }
            let users = await story.life.users
            #expect(story.life.network.authorities(of: unknown.id) == [users[0], "key"])
            try await story.finds(0, "device-tokens", of: 0)
            try await story.finds(0, "start-tokens", of: 0)
            try await story.finds(1, "device-tokens", of: 1)
            try await story.agrees()
        }
    }

    @Test func `A log-out goes to the system, but the next user's reports wait for its response`() async throws {
        try await Story.tell { story in
            let activity = await story.beginActivity()
            await story.play(.deviceToken, .network(.offline), .signIn(1), .background, .kill)
            await story.play(.network(.online), .time(seconds: 1800), .handedOverOnesGo(50))
            try await story.knows(activity, as: "ended")
            try await story.finds(0, "device-tokens", of: 0)
            try await story.finds(0, "device-tokens", of: 1)
            await story.play(.launch(listIsLate: false), .time(seconds: 10), .handedOverOnesGo(50))
            try await story.finds(1, "device-tokens", of: 1)
            try await story.agrees()
        }
    }
}
