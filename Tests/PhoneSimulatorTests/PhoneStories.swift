import Foundation
import PushTokenRegistry
import PushTokenRegistryTestSupport
import TestSupport
import Testing

/// One story for each rule of the client, against the real service.
@Suite(.timeLimit(.minutes(5))) struct PhoneStories {
    @Test(.story) func `After a launch, senders get an activity that a push started while the app was dead`()
        async throws
    {
        await story.play(.kill)
        let activity = await story.beginActivity()
        await story.play(.launch(listIsLate: false))
        try await story.handsOut(activity)
        try await story.agrees()
    }

    @Test(.story) func `After the next foreground, senders get a token that only the property has`() async throws {
        _ = await story.beginActivity()
        await story.play(.tokenRotates(0, .silent), .foreground)
        try await story.agrees()
    }

    @Test(.story) func `A list that is briefly empty after a launch removes no activity`() async throws {
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

    @Test(.story) func `An end with a later dismissal is reported as ended, and a swipe as dismissed`() async throws {
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

    @Test(.story) func `Senders get the newer of two activities of one order, and the older one ends`() async throws {
        let older = await story.beginActivity(order: "order-7")
        let newer = await story.beginActivity(order: "order-7")
        await story.play(.time(seconds: 3))
        #expect(!older.phase.runs)
        try await story.handsOut(newer)
        try await story.agrees()
    }

    @Test(.story(headStart: .seconds(12 * 3600), lifetime: "PT8H"))
    func `A scheduled activity is observed again if its report waited longer than a lifetime`() async throws {
        await story.play(.network(.offline))
        let start = story.life.clock.rightTime.date.addingTimeInterval(20 * 3600)
        let activity = await story.life.begin(startsAt: start)
        await story.tokenComes(to: activity)
        await story.play(.time(seconds: 10 * 3600), .network(.online), .time(seconds: 300))
        try await story.handsOut(activity)
    }

    /// The registry's clock does not follow the phone's, so an activity that begins in hour H has 8 + H hours left there.
    /// After T hours of the story, the sender therefore renews T hours and three quarters before the end.
    @Test(.story(headStart: .seconds(34 * 3600), lifetime: "PT42H"))
    func `Two renewals keep an order on the screen for 20 hours`() async throws {
        for type in 0..<2 { await story.play(.startToken(type: type, isSilent: false)) }
        var shown = await story.beginActivity(order: "order-8")
        var renewals: [Double] = []
        for halfHours in 1...40 {
            await story.play(.time(seconds: 1800))
            let type = await story.phone.types.first { type in type.all.contains { $0.id == shown.id } }
            let actions = try await story.life.service.sender.plan(
                "order-8",
                attributesType: type?.name ?? "",
                renewBefore: "PT\(halfHours * 30 + 45)M"
            )
            if actions == ["renew"] {
                renewals.append(Double(halfHours) / 2)
                let older = shown
                shown = await story.beginActivity(order: "order-8")
                await story.play(.time(seconds: 3))
                #expect(older.phase == .dismissed)
                #expect(story.life.network.reasons(ofEnd: older.id) == ["ended"])
            } else {
                #expect(actions == ["update"], "after \(halfHours) half hours")
            }
            let handed = try await story.life.service.sender.activities(under: ["order-8"])
            #expect(handed.map(\.activityID) == [shown.id])
        }
        #expect(renewals == [7.5, 15])
    }

    @Test(.story) func `Switching activities off removes the start tokens, and switching on restores them`()
        async throws
    {
        await story.play(.startToken(type: 0, isSilent: false), .activitiesAreSwitched(on: false))
        try await story.finds(0, "start-tokens", of: 0)
        await story.play(.activitiesAreSwitched(on: true))
        try await story.finds(1, "start-tokens", of: 0)
    }

    @Test(.story, arguments: [.offline, .portal, .emptyPortal, .failing, .throttled, .late] as [SimulatedNetwork.Mode])
    func `Unconfirmed reports are sent again`(_ mode: SimulatedNetwork.Mode) async throws {
        let ended = await story.beginActivity()
        await story.play(.network(mode))
        _ = await story.beginActivity()
        ended.change(to: .ended)
        await story.phone.rest()
        await story.play(.deviceToken, .network(.online), .time(seconds: 300))
        try await story.agrees()
    }

    @Test(.story) func `A request that ends with the app is repeated at the next launch`() async throws {
        let activity = await story.beginActivity()
        await story.play(.network(.stuck))
        activity.change(to: .ended)
        await story.phone.rest()
        // The activity is no longer listed, so only the file contains the reason of its end.
        await story.play(.kill, .endedOnesLeaveTheList, .network(.online), .launch(listIsLate: false))
        #expect(story.life.network.reasons(ofEnd: activity.id) == ["ended"])
    }

    /// Only the publishable key gets 404. The JWT of an unknown app cannot be checked.
    @Test(.story) func `A refused report blocks no other report`() async throws {
        await story.play(.signOut, .network(.astray))
        let first = await story.beginActivity()
        await story.play(.network(.online))
        let second = await story.beginActivity()
        try await story.handsOut(first, false)
        try await story.handsOut(second)
        await story.play(.foreground)
        try await story.handsOut(first)
    }

    /// iOS launches the app before the first unlock, when file and keychain are unreadable.
    @Test(.story) func `Activities seen before the first unlock are reported after it`() async throws {
        await story.play(.prewarm)
        let activity = await story.beginActivity()
        try await story.handsOut(activity, false)
        await story.play(.unlock, .time(seconds: 3))
        try await story.agrees()
        // The file contains the user before the app signs in.
        let user = await story.life.users[0]
        #expect(story.life.network.authorities(of: activity.id) == [user])
    }

    @Test(.story) func `A log-out leaves nothing of the former user, even if reports waited`() async throws {
        await story.play(.network(.offline), .deviceToken, .startToken(type: 0, isSilent: false), .signOut)
        await story.play(.network(.online), .time(seconds: 10))
        try await story.finds(0, "device-tokens", of: 0)
        try await story.finds(0, "start-tokens", of: 0)
    }

    @Test(.story, arguments: [true, false])
    func `An activity with its first token after the next sign-in belongs to no user`(isToldFirst: Bool) async throws {
        let activity = await story.life.begin(hasToken: false)
        if isToldFirst { await story.play(.foreground) }
        await story.play(.signIn(1), .time(seconds: 10))
        await story.tokenComes(to: activity)
        await story.play(.foreground, .time(seconds: 10))
        try await story.handsOut(activity, false)
        try await story.knows(activity, as: "ended")
    }

    @Test(.story) func `The former user or the installation reports an activity's end, never the next user`()
        async throws
    {
        let activity = await story.beginActivity()
        await story.play(.network(.offline), .activityEnds(0), .signIn(1), .network(.online), .time(seconds: 10))
        try await story.knows(activity, as: "ended")
        let users = await story.life.users
        #expect(!story.life.network.authorities(of: activity.id).contains(users[1]))
    }

    @Test(.story) func `A token that changed before the background arrives, even if the app never runs again`()
        async throws
    {
        let activity = await story.beginActivity()
        await story.play(.network(.offline))
        await story.tokenComes(to: activity)
        await story.play(.background, .kill, .network(.online), .time(seconds: 1800), .handedOverOnesGo(50))
        try await story.handsOut(activity)
    }

    @Test(.story) func `A token that wakes an offline app arrives, even if the app never runs again`() async throws {
        let activity = await story.beginActivity()
        await story.play(.background, .network(.offline))
        await story.tokenComes(to: activity)
        try await until { await story.phone.system.backgroundTasks > 0 }
        await story.life.suspend()
        await story.play(.kill, .network(.online), .time(seconds: 1800), .handedOverOnesGo(50))
        try await story.handsOut(activity)
    }

    @Test(.story) func `Reports submitted before a log-out keep their user and revive nothing after it`() async throws {
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

@Suite(.timeLimit(.minutes(5))) struct ClockStories {
    @Test(.story, arguments: [-200_000.0, -3600, 3600, 200_000])
    func `Senders get the last token, even after a wrong clock`(_ ahead: Double) async throws {
        let activity = await story.beginActivity()
        await story.play(.clock(ahead: ahead))
        await story.life.tokenComes(to: activity)
        await story.play(.time(seconds: 10), .clock(ahead: 0), .tokenRotates(0, .streamed), .time(seconds: 10))
        try await story.agrees()
    }

    /// In hours.
    private static let wrongClocks = [
        "hours behind": -10.0, "days behind": -72, "years behind": -87_600, "hours ahead": 5,
    ]

    /// The simulated time is close to the service's time, so that both agree whether an activity has expired.
    private static let nearPresent = StoryTrait.story(headStart: .seconds(2 * 3600), lifetime: "PT8H")

    private func beginAgain(ahead hours: Double?, _ steps: Step...) async throws {
        await story.play(.signOut, .time(seconds: 3), .newPhoneFromBackup)
        await story.play(.clock(ahead: try #require(hours) * 3600))
        for step in steps { await story.play(step) }
    }

    @Test(nearPresent, arguments: wrongClocks.keys.sorted())
    func `C21: at first contact a wrong clock costs one request`(_ clock: String) async throws {
        try await beginAgain(ahead: Self.wrongClocks[clock], .network(.offline), .launch(listIsLate: false))
        let activity = await story.beginActivity()
        let start = story.life.clock.rightTime
        // The report must not be sent with the time of this step.
        await story.play(.time(seconds: 1200), .network(.online), .time(seconds: 300))
        try await story.agrees()
        #expect(story.life.network.delivered(to: activity.id) == 2)
        await story.play(.tokenRotates(0, .streamed))
        let rotation = story.life.clock.rightTime
        await story.play(.time(seconds: 3))
        try await story.agrees()
        try await story.knows(activity, "startedAt", at: start)
        try await story.knows(activity, "observedAt", at: rotation)
    }

    @Test(nearPresent, arguments: wrongClocks.keys.sorted())
    func `C21: at first contact a sign-in with a wrong clock gets correct times`(_ clock: String) async throws {
        try await beginAgain(ahead: Self.wrongClocks[clock], .launch(listIsLate: false))
        await story.phone.signIn(story.life.users[1])
        let activity = await story.beginActivity()
        let start = story.life.clock.rightTime
        await story.play(.time(seconds: 3))
        try await story.agrees()
        for member in ["startedAt", "observedAt"] { try await story.knows(activity, member, at: start) }
    }

    @Test(nearPresent, arguments: [-5.0, 5])
    func `C21: a wrong time is still corrected after offline attempts`(_ hours: Double) async throws {
        try await beginAgain(ahead: hours, .network(.offline), .launch(listIsLate: false))
        await story.phone.signIn(story.life.users[1])
        let activity = await story.beginActivity()
        let start = story.life.clock.rightTime
        for _ in 1...20 { await story.play(.time(seconds: 61)) }
        await story.play(.tokenRotates(0, .streamed))
        let rotation = story.life.clock.rightTime
        for _ in 1...5 { await story.play(.time(seconds: 61)) }
        await story.play(.network(.online), .time(seconds: 300))
        try await story.agrees()
        try await story.knows(activity, "startedAt", at: start)
        try await story.knows(activity, "observedAt", at: rotation)
    }
}
