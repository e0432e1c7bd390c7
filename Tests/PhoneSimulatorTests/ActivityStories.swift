import Foundation
import PushTokenRegistry
import PushTokenRegistryTestSupport
import Testing

/// Traps of ActivityKit, each with the whole way to the sender.
@Suite(.timeLimit(.minutes(5))) struct ActivityStories {
    @Test("An activity that a push starts while the app is dead is handed out after the launch that follows")
    func startedByPush() async throws {
        try await Story.tell { story in
            await story.play(.kill)
            let activity = await story.begins()
            await story.play(.launch(listIsLate: false))
            try await story.handsOut(activity)
            try await story.agrees()
        }
    }

    @Test("An activity that only the stream shows is handed out") func streamAlone() async throws {
        try await Story.tell { story in
            for type in await story.phone.types { type.hides(true) }
            let activity = await story.begins()
            try await story.handsOut(activity)
        }
    }

    @Test("A token that only the property has is handed out once the app is in the foreground")
    func propertyAlone() async throws {
        try await Story.tell { story in
            _ = await story.begins()
            await story.play(.tokenRotates(0, .silent), .foreground)
            try await story.agrees()
        }
    }

    @Test("A list that is empty for a moment after a launch takes nothing away") func lateList() async throws {
        try await Story.tell { story in
            let activity = await story.begins()
            await story.play(.kill)
            for type in await story.phone.types { type.hides(true) }
            await story.phone.launch()
            await story.phone.rest()
            try await story.handsOut(activity)
            await story.play(.foreground)
            try await story.handsOut(activity)
            for type in await story.phone.types { type.hides(false) }
            await story.play(.time(seconds: 3))
            try await story.agrees()
        }
    }

    @Test func `An ended activity that is still listed and yields its token again stays ended`() async throws {
        try await Story.tell { story in
            let activity = await story.begins()
            await story.play(.activityEnds(0), .endedOneSpeaks(0), .kill, .launch(listIsLate: false))
            await story.play(.endedOneSpeaks(0))
            await story.play(.time(seconds: 3), .foreground)
            try await story.knows(activity, as: "ended")
            try await story.agrees()
        }
    }

    @Test("An activity that ended before the app ever saw it is never registered") func neverSeen() async throws {
        try await Story.tell { story in
            await story.play(.kill)
            let activity = await story.begins()
            await story.play(.activityEnds(0), .launch(listIsLate: false))
            #expect(!story.life.network.hasRegistered(activity.id))
            try await story.knows(activity, as: "ended")
        }
    }

    @Test("The app's own end is an end, though a dismissal follows it; a swipe is a dismissal")
    func endsAndDismissals() async throws {
        try await Story.tell { story in
            let (first, second) = (await story.begins(), await story.begins())
            first.changes(to: .ended)
            await story.phone.rest()
            first.changes(to: .dismissed)
            second.changes(to: .dismissed)
            await story.phone.rest()
            #expect(story.life.network.reasons(ofEnd: first.id) == ["ended"])
            #expect(story.life.network.reasons(ofEnd: second.id) == ["dismissed"])
            try await story.agrees()
        }
    }

    @Test("The phone's list of all that runs keeps an activity that is scheduled for later")
    func scheduled() async throws {
        try await Story.tell { story in
            await story.play(.activityIsScheduled, .tokenRotates(0, .told), .time(seconds: 3), .foreground)
            try await story.agrees()
        }
    }

    @Test func `An activity that left the list while the app was dead is no longer handed out`() async throws {
        try await Story.tell { story in
            let activity = await story.begins()
            await story.play(.kill, .userSwipes(0), .endedOnesLeaveTheList, .launch(listIsLate: false))
            await story.play(.time(seconds: 3))
            try await story.handsOut(activity, false)
        }
    }

    @Test("Of two activities of one order the newer one is handed out, and the older one ends")
    func sameOrder() async throws {
        try await Story.tell { story in
            let older = await story.begins(order: "order-7")
            let newer = await story.begins(order: "order-7")
            await story.play(.time(seconds: 3))
            #expect(!older.phase.runs)
            try await story.handsOut(newer)
            try await story.agrees()
        }
    }

    @Test("A report that waited longer than an activity may live is made anew for one that is still to begin")
    func waitedTooLong() async throws {
        try await Story.tell(headStart: .seconds(12 * 3600), lifetime: "PT8H") { story in
            await story.play(.network(.offline))
            let start = story.life.clock.rightTime.date.addingTimeInterval(20 * 3600)
            let activity = await story.life.begin(startsAt: start)
            await story.life.tokenComes(to: activity)
            await story.phone.rest()
            await story.play(.time(seconds: 10 * 3600), .network(.online), .time(seconds: 300))
            try await story.handsOut(activity)
        }
    }
}
