import PushTokenRegistryTestSupport
import PushTokenRegistry
import Testing

/// Networks that falsify, lose and delay.
@Suite(.timeLimit(.minutes(5))) struct NetworkStories {
    @Test(arguments: [.offline, .portal, .emptyPortal, .failing, .throttled, .late] as [SimulatedNetwork.Mode])
    func `Unconfirmed reports are sent again`(_ mode: SimulatedNetwork.Mode) async throws {
        try await Story.tell { story in
            let ended = await story.beginActivity()
            await story.play(.network(mode))
            _ = await story.beginActivity()
            ended.change(to: .ended)
            await story.phone.rest()
            await story.play(.deviceToken, .network(.online), .time(seconds: 300))
            try await story.agrees()
        }
    }

    @Test func `A request that ends with the app is repeated at the next launch`() async throws {
        try await Story.tell { story in
            let activity = await story.beginActivity()
            await story.play(.network(.stuck))
            activity.change(to: .ended)
            await story.phone.rest()
            // The activity is no longer listed, so only the file contains the reason of its end.
            await story.play(.kill, .endedOnesLeaveTheList, .network(.online), .launch(listIsLate: false))
            #expect(story.life.network.reasons(ofEnd: activity.id) == ["ended"])
        }
    }

    @Test func `A registration that arrives after the end does not revive the activity`() async throws {
        try await Story.tell { story in
            await story.play(.network(.late))
            let activity = await story.beginActivity()
            await story.play(.network(.online), .activityEnds(0), .lateOnesArrive(10))
            try await story.handsOut(activity, false)
            try await story.agrees()
        }
    }

    @Test func `A requested pause is kept, even in the foreground`() async throws {
        try await Story.tell { story in
            await story.play(.network(.throttled), .deviceToken, .network(.online), .foreground, .time(seconds: 30))
            try await story.finds(0, "device-tokens", of: 0)
            await story.play(.time(seconds: 15))
            try await story.finds(1, "device-tokens", of: 0)
        }
    }

    // Only the publishable key gets 404. The JWT of an unknown app cannot be checked.

    @Test func `An app that is unknown to the registry for hours loses no report`() async throws {
        try await Story.tell { story in
            await story.play(.signOut, .network(.astray))
            let activity = await story.beginActivity()
            await story.play(.time(seconds: 7 * 3600), .network(.online), .time(seconds: 3700))
            try await story.handsOut(activity)
        }
    }

    @Test func `A refused report blocks no other report`() async throws {
        try await Story.tell { story in
            await story.play(.signOut, .network(.astray))
            let first = await story.beginActivity()
            await story.play(.network(.online))
            let second = await story.beginActivity()
            try await story.handsOut(first, false)
            try await story.handsOut(second)
            await story.play(.foreground)
            try await story.handsOut(first)
        }
    }
}
