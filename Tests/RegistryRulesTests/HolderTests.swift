import RegistryCore
import RegistryRules
import Testing

/// R8: the holders of a value, at minute 60.
struct HolderTests {
    @Test func `Of several holders the latest claim counts, and the greatest kind is named`() throws {
        var first = Story()
        try first.register(token: 1, at: 40)
        for (slots, kind) in [(["start"], "update"), (["start", "zone"], "zone")] {
            var story = Story(
                activities: first.rows.activities.values.map(\.value),
                values: first.rows.values.values.map(\.value),
                installations: InstallationRows(slots: slots.map { .start(1, claimedAt: 10, kind: $0) })
            )
            let decision = story.decide(TokenReport(1, 410, at: 20))
            #expect(decision.action == .keptNewer)
            #expect(decision.kind == kind)
        }
    }

    @Test func `Deaths of start tokens are recorded in the order of the installations`() {
        let slots: [InstallationToken] = [.start(1, claimedAt: 10, of: .tablet), .start(1, claimedAt: 10)]
        var story = Story(installations: InstallationRows(slots: slots))
        #expect(story.report(410) == .dropped)
        #expect(story.rows.events.map(\.installation) == [.phone, .tablet])
    }

    @Test func `A repeated report reaches the holders that were beyond the limit of an earlier one`() {
        let slots: [InstallationToken] = [.start(1, claimedAt: 10), .start(1, claimedAt: 10, of: .tablet)]
        for (status, reason, expected) in [(410, "Unregistered", .unregistered), (400, "BadDeviceToken", .quarantined)]
            as [(Int, String, WithholdingReason)]
        {
            var story = Story(installations: InstallationRows(slots: [slots[0]]))
            story.report(status, reason)
            story = Story(values: story.rows.values.values.map(\.value), installations: InstallationRows(slots: slots))
            story.report(status, reason)
            #expect(story.rows.installations.slots.values.allSatisfy { $0.value.withheld == expected })
            #expect(story.rows.events.map(\.installation) == [.phone, .tablet])
        }
    }

    @Test func `A value is retired from the expiry of its activity on`() throws {
        var first = Story()
        try first.register(token: 1, at: 10)
        var (running, over) = (first.later(489), first.later(490))
        #expect(running.report(200) == .delivered)
        #expect(over.report(200) == .retired)
    }

    @Test func `A value that only installations claimed is known`() {
        var (started, owned) = (TokenValue(digest: TokenDigest(1)), TokenValue(digest: TokenDigest(1)))
        started.startObservedAt = Story.minute(10)
        owned.installation = .init(hash: .phone, kind: "device", observedAt: Story.minute(10))
        for (value, action) in [(started, .retired), (owned, .retired), (TokenValue(digest: TokenDigest(1)), .unknown)]
            as [(TokenValue, FeedbackAction)]
        {
            var story = Story(values: [value])
            #expect(story.report(200) == action)
            #expect(value.isOfInstallations == (action == .retired))
        }
    }

    @Test func `A report writes its activity only for a request`() throws {
        var story = Story()
        try story.register(token: 1, at: 10)
        #expect(story.report(410) == .dropped)
        #expect(story.rows.activities["a"]?.isWritten == true)
        story = story.later(61)
        #expect(story.report(400, "BadDeviceToken") == .quarantined)
        #expect(story.rows.activities["a"]?.isWritten == false)
    }

    @Test func `A repeated death or quarantine writes its value again, and a report without effect does not`() throws {
        let reports: [(Int, String, FeedbackAction)] = [
            (410, "Unregistered", .dropped), (400, "BadDeviceToken", .quarantined), (500, "", .kept),
        ]
        for (status, reason, action) in reports {
            var first = Story()
            try first.register(token: 1, at: 10)
            first.report(status, reason, at: 20)
            var story = first.later(61)
            #expect(story.report(status, reason, at: 20) == action)
            #expect(story.rows.values[TokenDigest(1)]?.isWritten == (action != .kept))
        }
    }

    @Test func `The first reason that applies withholds a token`() {
        var value = TokenValue(digest: TokenDigest(1))
        value.owner = .init(activityID: "b", observedAt: Story.minute(10))
        value.installation = .init(hash: .tablet, kind: "widget", observedAt: Story.minute(10))
        let slot = InstallationToken.device(1, claimedAt: 10)
        guard let claim = slot.token else { return }
        #expect(value.withholdingReason(for: claim, of: "a") == .takenOver)
        #expect(value.withholdingReason(for: claim, of: "b") == .kindConflict)
        #expect(value.withholdingReason(for: claim, in: slot) == .kindConflict)
    }
}

/// R8: the burst guard, for values in quarantine and other kinds.
struct GuardedTests {
    private func report(_ token: UInt8, at minute: Int? = nil) -> TokenReport {
        TokenReport(token, 400, "BadDeviceToken", at: minute)
    }

    @Test func `While the guard is on a quarantine stays, and a newer claim is guarded`() throws {
        var story = try Story.activities(5)
        story.report(400, "BadDeviceToken", of: 1)
        story = story.later(61)
        var guards = Story.guards()
        (guards[0].trippedAt, guards[0].reportedAt) = (Story.minute(60), Story.minute(60))
        let decisions = story.rows.apply([report(1), report(2, at: 9)], guards: &guards, by: "t").decisions
        #expect(decisions.map(\.action) == [.quarantined, .guarded])
    }

    @Test func `A burst releases the quarantines of its kind and window, in the order of the values`() throws {
        var first = try Story.activities(5)
        first.report(400, "BadDeviceToken", of: 5)
        first = first.later(61)
        for token in [2, 1] as [UInt8] { first.report(400, "BadDeviceToken", of: token) }
        var other = TokenValue(digest: TokenDigest(50))
        other.quarantine = .init(at: Story.minute(61), kind: "start", reason: "BadDeviceToken")
        var story = Story(
            now: 70,
            activities: first.rows.activities.values.map(\.value),
            values: first.rows.values.values.map(\.value) + [other],
            installations: InstallationRows(slots: [.start(50, claimedAt: 10)])
        )
        var guards = Story.guards(recent: 3, current: 5)
        #expect(story.rows.apply([report(3), report(4)], guards: &guards, by: "t").trippedKinds == ["update"])
        #expect(story.rows.events.map(\.tokenDigest) == [TokenDigest(1), TokenDigest(2)])
        #expect(story.events == [.released, .released])
        #expect(story.value(50)?.quarantine != nil)
        #expect(story.value(5)?.quarantine != nil)
    }

    @Test func `Each action has a sentence of its own`() throws {
        var story = try Story.activities(5)
        try story.register("a1", token: 9, at: 20)
        var guards = Story.guards()
        (guards[0].trippedAt, guards[0].reportedAt) = (Story.minute(60), Story.minute(60))
        let reports = [report(1), report(2), TokenReport(3, 404, "BadPath"), TokenReport(4, 410, at: 9)]
        let decisions = story.rows.apply(reports, guards: &guards, by: "t").decisions
        let sentences = [
            "The token is no longer current", "The update token is kept. Too many",
            "The update token is kept. The status",
            "The update token is kept because a client",
        ]
        for (decision, sentence) in zip(decisions, sentences) {
            #expect(decision.result(isKnownIn: nil).detail.hasPrefix(sentence))
        }
    }
}
