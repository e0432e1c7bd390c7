import RegistryCore
import RegistryRules
import Testing

/// R8: the effect of a report on the current owner of a value. Token 1 is the token of activity a, claimed at minute 10; it is minute 60.
struct FeedbackTests {
    private func story(claimedAt minute: Int = 10) throws -> Story {
        var first = Story()
        try first.register(token: 1, at: minute)
        return first.later(60)
    }

    struct Case: CustomTestStringConvertible {
        let status: Int
        let reason: String?
        let timestamp: Int?
        let action: FeedbackAction
        let withheld: WithholdingReason?

        init(_ status: Int, _ reason: String?, at timestamp: Int? = nil, _ action: FeedbackAction) {
            (self.status, self.reason, self.timestamp, self.action) = (status, reason, timestamp, action)
            withheld = action == .dropped ? .unregistered : action == .quarantined ? .quarantined : nil
        }

        var testDescription: String { "\(status) \(reason ?? "") \(timestamp.map { "at \($0)" } ?? "")" }
    }

    static let cases =
        [
            Case(410, nil, .dropped), Case(410, "", .dropped), Case(410, "Unregistered", at: 10, .dropped),
            Case(410, "ExpiredToken", at: 11, .dropped), Case(410, "Unregistered", at: 9, .keptNewer),
            Case(410, "Unregistered", at: 90, .dropped), Case(400, "BadDeviceToken", .quarantined),
            Case(400, "DeviceTokenNotForTopic", .quarantined), Case(400, "BadDeviceToken", at: 9, .keptNewer),
            Case(200, nil, .delivered),
        ] + sendersFaults.map { Case($0, $1, .kept) }

    private static let sendersFaults = [
        (400, "BadTopic"), (400, "TopicDisallowed"), (400, "PayloadEmpty"), (400, "ChannelNotRegistered"),
        (403, "BadEnvironmentKeyIdInToken"), (403, "BadEnvironmentKeyInToken"), (403, "InvalidProviderToken"),
        (404, "BadPath"), (405, "MethodNotAllowed"), (410, "SomethingNew"), (413, "PayloadTooLarge"), (418, "Teapot"),
        (429, "TooManyRequests"), (500, "InternalServerError"), (503, "Shutdown"),
    ]

    @Test(arguments: cases) func `The status and reason of a report decide its action`(_ test: Case) throws {
        var story = try story()
        let revision = try #require(story.activity()).revision
        #expect(story.report(test.status, test.reason, at: test.timestamp) == test.action)
        #expect(story.activity()?.withheld == test.withheld)
        #expect(story.activity()?.revision == revision + (test.withheld == nil ? 0 : 1))
        let events: [WithholdingReason: NewAuditEvent.Kind] = [.unregistered: .dropped, .quarantined: .quarantined]
        #expect(story.events == [test.withheld.flatMap { events[$0] }].compactMap(\.self))
        #expect(story.value()?.deliveredAt == (test.action == .delivered ? Story.minute(60) : nil))
    }

    @Test func `A quarantine counts from its receipt, so that the guard sees old reports`() throws {
        var story = try story(claimedAt: 5)
        #expect(story.report(400, "BadDeviceToken", at: 10) == .quarantined)
        #expect(story.value()?.quarantine?.at == Story.minute(60))
        try story.register(token: 1)
        #expect(story.activity()?.withheld == .quarantined)
        #expect(story.report(400, "BadDeviceToken", at: 10) == .quarantined)
    }

    @Test(arguments: cases) func `The action is retired for a former value, and unknown for an unknown value`(
        _ test: Case
    )
        throws
    {
        var (rotated, ended) = (try story(), try story())
        try rotated.register(token: 2, at: 20)
        try ended.end(at: 20)
        (rotated, ended) = (rotated.later(60), ended.later(60))
        var over = try story().later(500)
        let isDeath = test.status == 410 && test.reason != "SomethingNew"
        for index in 0..<3 {
            var story = [rotated, ended, over][index]
            #expect(story.report(test.status, test.reason, at: test.timestamp) == .retired)
            #expect((story.value()?.deadAt != nil) == isDeath)
            #expect(story.value()?.quarantine == nil && story.value()?.deliveredAt == nil)
            #expect(story.activity()?.revision == [2, 2, 1][index])
            let isDropped = isDeath && test.timestamp != 9
            #expect(index < 2 || story.activity()?.withheld == (isDropped ? .unregistered : nil))
            #expect(story.events == [])
        }
        #expect(over.report(test.status, test.reason, of: 9, at: test.timestamp) == .unknown)
        #expect((over.value(9)?.deadAt != nil) == isDeath)
    }

    @Test func `The latest time of death counts, but no time after the receipt`() throws {
        var story = try story()
        story.report(410, at: 9)
        story.report(410, at: 20)
        story.report(410, at: 15)
        #expect(story.value()?.deadAt == Story.minute(20))
        story.report(410, at: 90)
        #expect(story.value()?.deadAt == Story.minute(60))
        #expect(story.events == [.dropped])
    }

    @Test func `Further reports do not change a quarantine, and a death overrides it`() throws {
        var story = try story()
        story.report(400, "BadDeviceToken", at: 10)
        #expect(story.report(400, "DeviceTokenNotForTopic", at: 30) == .quarantined)
        #expect(story.value()?.quarantine == .init(at: Story.minute(60), kind: "update", reason: "BadDeviceToken"))
        #expect(story.activity()?.withheld == .quarantined)
        #expect(story.report(410, at: 30) == .dropped)
        #expect(story.activity()?.withheld == .unregistered)
        #expect(story.events == [.quarantined, .dropped])
        #expect(story.release() == true)
        #expect(story.activity()?.withheld == .unregistered)
        #expect(story.events == [.quarantined, .dropped])
    }

    @Test func `A release ends a quarantine`() throws {
        var story = try story()
        #expect(story.release() == false)
        story.report(400, "BadDeviceToken")
        #expect(story.release() == true)
        #expect(story.activity()?.withheld == nil && story.activity()?.revision == 3)
        #expect(story.events == [.quarantined, .released])
    }

    @Test func `For a value of an installation, the claim of the installation counts`() throws {
        var value = TokenValue(digest: TokenDigest(1))
        value.installation = .init(hash: .phone, kind: "device", observedAt: Story.minute(30))
        value.owner = .init(activityID: "a", observedAt: Story.minute(5))
        var story = try story()
        story = Story(
            activities: [try #require(story.activity())],
            values: [value],
            installations: InstallationRows(slots: [.device(1, claimedAt: 30)])
        )
        #expect(story.report(410, at: 20) == .keptNewer)
        #expect(story.report(410, at: 30) == .dropped)
        #expect(story.rows.events.map(\.slot?.kind) == ["device"])
        #expect(story.slot()?.withheld == .unregistered)
        #expect(story.activity()?.withheld == .kindConflict)
        #expect(story.activity()?.revision == 1)
    }

    @Test func `If several start tokens have one value, a death affects only the earlier claims`() {
        var value = TokenValue(digest: TokenDigest(1))
        value.startObservedAt = Story.minute(30)
        let slots: [InstallationToken] = [.start(1, claimedAt: 10), .start(1, claimedAt: 30, of: .tablet)]
        var story = Story(values: [value], installations: InstallationRows(slots: slots))
        #expect(story.report(410, at: 20) == .keptNewer)
        #expect(story.events == [.dropped])
        #expect(story.slot("start", type: "Match")?.withheld == .unregistered)
        #expect(story.slot("start", type: "Match", of: .tablet)?.withheld == nil)
        #expect(story.report(410, at: 30) == .dropped)
        #expect(story.events == [.dropped, .dropped])
    }

    @Test func `The result names the kind and the other environment`() throws {
        var story = try story()
        func detail(_ token: UInt8, _ status: Int) -> String {
            story.decide(TokenReport(token, status, "BadDeviceToken")).result(isKnownIn: .sandbox).detail
        }
        #expect(detail(9, 500) == "The value was never registered here. It is known in sandbox.")
        #expect(detail(1, 200) == "The update token works.")
        #expect(detail(1, 400).hasPrefix("The update token is quarantined until"))
        #expect(detail(1, 400).hasSuffix(" The value is registered in sandbox, too."))
    }
}

/// R8: the burst guard.
struct BurstGuardTests {
    private func suspects(_ tokens: ClosedRange<UInt8>) -> [TokenReport] {
        tokens.map { TokenReport($0, 400, "BadDeviceToken") }
    }

    @Test(arguments: [(0, 3), (15, 3), (19, 3), (20, 4), (100, 20), (4999, 999), (5000, 1000), (1_000_000, 1000)])
    func `The limit is three, or a fifth of the current tokens, at most 1000`(current: Int, limit: Int) {
        for recent in [0, 2] {
            let burstGuard = BurstGuard(kind: "update", recent: recent, current: current)
            #expect(!burstGuard.isExceeded(by: limit - recent))
            #expect(burstGuard.isExceeded(by: limit - recent + 1))
        }
    }

    @Test(arguments: [(0, true), (9, true), (10, false), (11, false)])
    func `The guard is on until ten minutes pass without a report`(minutes: Int, isOn: Bool) {
        var burstGuard = BurstGuard(kind: "update", trippedAt: Story.minute(0), recent: 0, current: 5)
        #expect(!burstGuard.isOn(at: Story.minute(1)))
        burstGuard.reportedAt = Story.minute(30)
        #expect(burstGuard.isOn(at: Story.minute(30 + minutes)) == isOn)
        burstGuard.trippedAt = nil
        #expect(!burstGuard.isOn(at: Story.minute(31)))
    }

    @Test func `A batch beyond the limit trips the guard and releases all quarantines of the window`() throws {
        var story = try Story.activities(6).later(60)
        var guards = Story.guards(current: 6)
        let first = story.rows.apply(suspects(1...3), guards: &guards, by: "t").decisions
        #expect(first.map(\.action) == [.quarantined, .quarantined, .quarantined])
        #expect(guards[0].trippedAt == nil && guards[0].reportedAt == Story.minute(60))
        story = story.later(65)
        guards = Story.guards(recent: 3, current: 6)
        let reports = suspects(3...5) + [TokenReport(1, 410)]
        let (decisions, trippedKinds) = story.rows.apply(reports, guards: &guards, by: "t")
        #expect(decisions.map(\.action) == [.guarded, .guarded, .guarded, .dropped])
        #expect(trippedKinds == ["update"])
        #expect(guards[0].trippedAt == Story.minute(65))
        #expect(story.events == [.released, .released, .released, .dropped])
        #expect(story.rows.activities.values.filter { $0.value.withheld != nil }.count == 1)
    }

    @Test func `Further reports keep the guard active and do not trip it again`() throws {
        var story = try Story.activities(1).later(60)
        var guards = Story.guards(recent: 0, current: 6)
        (guards[0].trippedAt, guards[0].reportedAt) = (Story.minute(50), Story.minute(51))
        let (decisions, trippedKinds) = story.rows.apply(suspects(1...1), guards: &guards, by: "t")
        #expect(decisions.map(\.action) == [.guarded])
        #expect(trippedKinds.isEmpty)
        #expect(guards[0].trippedAt == Story.minute(50) && guards[0].reportedAt == Story.minute(60))
    }

    @Test func `Repeated, unknown and dead values do not count`() throws {
        var story = try Story.activities(5).later(60)
        var guards = Story.guards(current: 5)
        let reports = suspects(1...3) + suspects(1...3) + suspects(20...30)
        _ = story.rows.apply(reports, guards: &guards, by: "t")
        #expect(guards[0].trippedAt == nil)
        story = story.later(61)
        guards = Story.guards(recent: 3, current: 5)
        let dead = [TokenReport(4, 410)] + suspects(4...4)
        #expect(story.rows.apply(dead + suspects(1...3), guards: &guards, by: "t").trippedKinds == [])
        #expect(guards[0].reportedAt == nil)
    }

    @Test func `Each kind has its own guard`() throws {
        var story = try Story.activities(4).later(60)
        var value = TokenValue(digest: TokenDigest(50))
        value.startObservedAt = Story.minute(10)
        story = Story(
            activities: story.rows.activities.values.map(\.value),
            values: story.rows.values.values.map(\.value) + [value],
            installations: InstallationRows(slots: [.start(50, claimedAt: 10)])
        )
        var guards = Story.guards(current: 4) + [BurstGuard(kind: "start", recent: 0, current: 1)]
        let decisions = story.rows.apply(suspects(1...4) + suspects(50...50), guards: &guards, by: "t").decisions
        #expect(decisions.map(\.action) == [.guarded, .guarded, .guarded, .guarded, .quarantined])
    }
}

extension TokenReport {
    init(_ token: UInt8, _ status: Int, _ reason: String? = nil, at minute: Int? = nil) {
        let report = FeedbackReport(
            token: PushToken(bytes: [token]),
            status: status,
            reason: reason,
            timestamp: minute.map { Story.minute($0).date }
        )
        self.init(report, digest: TokenDigest(token))
    }
}

extension InstallationToken {
    static func device(_ token: UInt8, claimedAt minute: Int) -> InstallationToken {
        slot(ID(installation: .phone, kind: "device", attributesType: ""), hasOneOwner: true, token, minute)
    }

    static func start(
        _ token: UInt8,
        claimedAt minute: Int,
        of installation: InstallationHash = .phone,
        kind: String = "start"
    ) -> InstallationToken {
        slot(ID(installation: installation, kind: kind, attributesType: "Match"), hasOneOwner: false, token, minute)
    }

    private static func slot(_ id: ID, hasOneOwner: Bool, _ token: UInt8, _ minute: Int) -> InstallationToken {
        let (digest, time) = (TokenDigest(token), Story.minute(minute))
        var slot = InstallationToken(id: id, hasOneOwner: hasOneOwner)
        slot.token = TokenClaim(digest: digest, token: PushToken(bytes: [token]), observedAt: time, claimedAt: time)
        return slot
    }
}

extension Story {
    /// Activities `a1`, `a2` and so on, with tokens of their numbers.
    static func activities(_ count: UInt8) throws -> Story {
        var story = Story()
        for number in 1...count { try story.register(ActivityID(stored: "a\(number)"), token: number, at: 10) }
        return story
    }

    static func guards(recent: Int = 0, current: Int = 100) -> [BurstGuard] {
        [BurstGuard(kind: "update", recent: recent, current: current)]
    }

    @discardableResult
    mutating func report(
        _ status: Int,
        _ reason: String? = nil,
        of token: UInt8 = 1,
        at minute: Int? = nil
    ) -> FeedbackAction { decide(TokenReport(token, status, reason, at: minute)).action }

    mutating func decide(_ report: TokenReport) -> FeedbackDecision {
        var guards = Self.guards()
        return rows.apply([report], guards: &guards, by: "t").decisions[0]
    }

    mutating func release() -> Bool { rows.release(TokenDigest(1), by: "t") }
    func value(_ token: UInt8 = 1) -> TokenValue? { rows.values[TokenDigest(token)]?.value }
}
