import Foundation
import PushTokenRegistry
import PushTokenRegistryTestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct ActivityStories {
    @Test func `After a launch, senders get an activity that a push started while the app was dead`() async throws {
        try await Story.tell { story in
            await story.play(.kill)
            let activity = await story.beginActivity()
            await story.play(.launch(listIsLate: false))
            try await story.handsOut(activity)
            try await story.agrees()
        }
    }

    @Test func `Senders get an activity that only the stream delivers`() async throws {
        try await Story.tell { story in
            for type in await story.phone.types { type.setHidden(true) }
            let activity = await story.beginActivity()
            try await story.handsOut(activity)
        }
    }

    @Test func `After the next foreground, senders get a token that only the property has`() async throws {
        try await Story.tell { story in
            _ = await story.beginActivity()
            await story.play(.tokenRotates(0, .silent), .foreground)
            try await story.agrees()
        }
    }

    @Test func `A list that is briefly empty after a launch removes no activity`() async throws {
        try await Story.tell { story in
            let activity = await story.beginActivity()
            await story.play(.kill)
            for type in await story.phone.types { type.setHidden(true) }
            await story.phone.launch()
            await story.phone.rest()
            try await story.handsOut(activity)
            await story.play(.foreground)
            try await story.handsOut(activity)
            for type in await story.phone.types { type.setHidden(false) }
            await story.play(.time(seconds: 3))
            try await story.agrees()
        }
    }

    @Test func `An ended activity stays ended, even if it is listed and delivers its token again`() async throws {
        try await Story.tell { story in
            let activity = await story.beginActivity()
            await story.play(.activityEnds(0), .endedOneSpeaks(0), .kill, .launch(listIsLate: false))
            await story.play(.endedOneSpeaks(0))
            await story.play(.time(seconds: 3), .foreground)
            try await story.knows(activity, as: "ended")
            try await story.agrees()
        }
    }

    @Test func `An activity that ended before the app saw it is never registered`() async throws {
        try await Story.tell { story in
            await story.play(.kill)
            let activity = await story.beginActivity()
            await story.play(.activityEnds(0), .launch(listIsLate: false))
            #expect(!story.life.network.hasRegistered(activity.id))
            try await story.knows(activity, as: "ended")
        }
    }

    @Test func `An end with a later dismissal is reported as ended, and a swipe as dismissed`() async throws {
        try await Story.tell { story in
            let (first, second) = (await story.beginActivity(), await story.beginActivity())
            first.change(to: .ended)
            await story.phone.rest()
            first.change(to: .dismissed)
            second.change(to: .dismissed)
            await story.phone.rest()
            #expect(story.life.network.reasons(ofEnd: first.id) == ["ended"])
            #expect(story.life.network.reasons(ofEnd: second.id) == ["dismissed"])
            try await story.agrees()
        }
    }

    @Test func `The list of activities keeps scheduled activities`() async throws {
        try await Story.tell { story in
            await story.play(.activityIsScheduled, .tokenRotates(0, .streamed), .time(seconds: 3), .foreground)
            try await story.agrees()
        }
    }

    @Test func `Senders do not get an activity that left the list while the app was dead`() async throws {
        try await Story.tell { story in
            let activity = await story.beginActivity()
            await story.play(.kill, .userSwipes(0), .endedOnesLeaveTheList, .launch(listIsLate: false))
            await story.play(.time(seconds: 3))
            try await story.handsOut(activity, false)
        }
    }

    @Test func `Senders get the newer of two activities of one order, and the older one ends`() async throws {
        try await Story.tell { story in
            let older = await story.beginActivity(order: "order-7")
            let newer = await story.beginActivity(order: "order-7")
            await story.play(.time(seconds: 3))
            #expect(!older.phase.runs)
            try await story.handsOut(newer)
            try await story.agrees()
        }
    }

    @Test func `The activity that a renewal replaces ends without a dismissal, and the plan updates the new one`()
        async throws
    {
        try await Story.tell(headStart: .seconds(7 * 3600 + 2400), lifetime: "PT8H") { story in
            for type in 0..<2 { await story.play(.startToken(type: type, isSilent: false)) }
            let older = await story.beginActivity(order: "order-8")
            try await story.plans("renew", for: older)
            await story.play(.time(seconds: 3 * 3600))
            let newer = await story.beginActivity(order: "order-8")
            await story.play(.time(seconds: 3))
            #expect(older.phase == .dismissed)
            #expect(story.life.network.reasons(ofEnd: older.id) == ["ended"])
            try await story.plans("update", for: newer)
        }
    }

    @Test func `A scheduled activity is observed again if its report waited longer than a lifetime`() async throws {
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
