import PushTokenRegistryTestSupport
import PushTokenRegistry
import Testing

/// Networks that lie, lose and delay.
@Suite(.timeLimit(.minutes(5))) struct NetworkStories {
    @Test(
        "What was told to nobody is told again",
        arguments: [.offline, .portal, .emptyPortal, .failing, .throttled, .late] as [SimulatedNetwork.Mode]
    )
    func toldToNobody(_ mode: SimulatedNetwork.Mode) async throws {
        try await Story.tell { story in
            let ended = await story.begins()
            await story.play(.network(mode))
            _ = await story.begins()
            ended.changes(to: .ended)
            await story.phone.rest()
            await story.play(.deviceToken, .network(.online), .time(seconds: 300))
            try await story.agrees()
        }
    }

    @Test("An upload that dies with the app is made by the next one") func diesWithTheApp() async throws {
        try await Story.tell { story in
            let activity = await story.begins()
            await story.play(.network(.stuck))
            activity.changes(to: .ended)
            await story.phone.rest()
            // The list does not show it any more, so only the file knows how it ended.
            await story.play(.kill, .endedOnesLeaveTheList, .network(.online), .launch(listIsLate: false))
            #expect(story.life.network.reasons(ofEnd: activity.id) == ["ended"])
        }
    }

    @Test func `A registration that arrives after the end of its activity brings nothing back`() async throws {
        try await Story.tell { story in
            await story.play(.network(.late))
            let activity = await story.begins()
            await story.play(.network(.online), .activityEnds(0), .lateOnesArrive(10))
            try await story.handsOut(activity, false)
            try await story.agrees()
        }
    }

    @Test("A pause that is asked for is kept, in the foreground too") func pause() async throws {
        try await Story.tell { story in
            await story.play(.network(.throttled), .deviceToken, .network(.online), .foreground, .time(seconds: 30))
            try await story.finds(0, "device-tokens", of: 0)
            await story.play(.time(seconds: 15))
            try await story.finds(1, "device-tokens", of: 0)
        }
    }

    // The publishable key alone is answered 404; nobody can check a JWT for an app that is not there.

    @Test("An app that the registry does not know for some hours loses nothing of them")
    func appIsMissing() async throws {
        try await Story.tell { story in
            await story.play(.signOut, .network(.astray))
            let activity = await story.begins()
            await story.play(.time(seconds: 7 * 3600), .network(.online), .time(seconds: 3700))
            try await story.handsOut(activity)
        }
    }

    @Test("One report that is refused blocks no other") func refusalBlocksNone() async throws {
        try await Story.tell { story in
            await story.play(.signOut, .network(.astray))
            let first = await story.begins()
            await story.play(.network(.online))
            let second = await story.begins()
            try await story.handsOut(first, false)
            try await story.handsOut(second)
            await story.play(.foreground)
            try await story.handsOut(first)
        }
    }
}
