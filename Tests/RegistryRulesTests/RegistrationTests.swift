import RegistryCore
import RegistryRules
import Testing

/// R4 and R5: the end and the lifetime.
struct LifetimeTests {
    @Test func `An end is final`() throws {
        var story = Story()
        try story.register(at: 10)
        #expect(try story.end(at: 20))
        #expect(story.rejection(at: 30) == .ended)
        #expect(story.activity()?.token?.token == nil)
        #expect(story.activity()?.token?.digest == TokenDigest(1))
    }

    @Test func `The earliest end and its reason are kept`() throws {
        var story = Story()
        for (minute, reason) in [(30, EndReason.ended), (20, .dismissed), (20, .ended), (40, .dismissed)] {
            try story.end(reason: reason, at: minute)
        }
        #expect(story.activity()?.end == Activity.End(at: Story.minute(20), reason: .ended))
        #expect(story.events == [.ended, .ended, .ended], "one for each change")
    }

    @Test func `An activity expires eight hours after its earliest start`() throws {
        var story = Story()
        try story.register(at: 50)
        try story.register(at: 55, startedAt: 0)
        #expect(story.activity()?.expiresAt == Story.minute(480))
        try story.register("b", token: 2, startedAt: 64)
        #expect(story.activity("b")?.startedAt == Story.minute(60), "a start is never after the first receipt")
        #expect(story.later(479).state() == .active)
        #expect(story.later(480).state() == .expired)
        #expect(story.later(480).rejection(at: 479) == .expired)
    }

    @Test func `A start after a log-out stays after it, although the phone's clock is ahead`() throws {
        let times = InstallationTimes(fullStateAt: Story.minute(63), loggedOutAt: Story.minute(63))
        var story = Story(times: [.phone: times])
        try story.register(at: 64, installation: .phone)
        try story.register(at: 65)
        #expect(story.state() == .active)
        #expect(throws: Rejection.ended) {
            try story.register("b", token: 2, at: 64, startedAt: 63, installation: .phone)
        }
        #expect(story.activity("b")?.startedAt == Story.minute(60), "a start is never after the receipt otherwise")
        for (now, start) in [(63, 66), (64, 64)] {
            var later = Story(now: now, times: [.phone: times])
            try later.register(at: 66, installation: .phone)
            #expect(later.activity()?.startedAt == Story.minute(start))
        }
    }

    @Test func `A scheduled start moves the lifetime, and the first received start stays`() throws {
        var story = Story()
        try story.register(at: 10, startsAt: 600)
        try story.register(at: 5, startsAt: 700)
        #expect(story.activity()?.startsAt == Story.minute(600))
        #expect(story.activity()?.expiresAt == Story.minute(1080))
        #expect(story.later(1079).state() == .active)
        #expect(story.later(1080).state() == .expired)
    }
}

/// R5: implausible times and expired registrations change nothing.
struct ImplausibleTimeTests {
    static let times: [(name: String, time: Timestamp)] = [
        ("a zero date", Timestamp(microseconds: -946_684_800_000_000)),
        ("year 1", .distantPast),
        ("the Buddhist calendar's 2025", Timestamp(microseconds: 17_953_142_400_000_000)),
        ("the Japanese calendar's 7", Timestamp(microseconds: -62_890_000_000_000_000)),
        ("six minutes ahead", Story.minute(66)),
        ("August 2022", Plausibility.earliest + .seconds(-1)),
    ]

    @Test(arguments: times)
    func `An implausible time is a fault and changes nothing`(time: (name: String, time: Timestamp)) throws {
        var story = Story()
        try story.register(at: 10)
        let before = story.activity()
        for field in [\ActivityRegistration.observedAt, \.startedAt] {
            for id in ["a", "unknown"] as [ActivityID] {
                #expect(throws: Rejection.self) { try story.register(id) { $0[keyPath: field] = time.time.date } }
            }
        }
        for id in ["a", "unknown"] as [ActivityID] {
            #expect(throws: Rejection.self) {
                try story.rows.end(id, reason: .ended, observedAt: time.time, claimant: .any, actor: "t")
            }
        }
        #expect(story.activity() == before)
        #expect(story.activity("unknown") == nil)
        #expect(try story.register("unknown", token: 2) == .registered)
    }

    @Test func `A fault names its field`() {
        let rejection = Story().rejection { $0.startedAt = Timestamp(microseconds: 0).date }
        guard case .clockSkew(let faults)? = rejection else {
            Issue.record("the registration was not rejected for its times")
            return
        }
        #expect(faults.map(\.pointer) == ["/startedAt"])
    }

    @Test func `A registration that expired by its own times changes nothing`() throws {
        var story = Story(now: 500)
        try story.register(token: 1, at: 490)
        let before = story.activity()
        #expect(throws: Rejection.stale) { try story.register(token: 2, at: 20) }
        #expect(throws: Rejection.stale) { try story.register(token: 2, at: 495, startedAt: 20) }
        #expect(throws: Rejection.stale) { try story.register("b", token: 2, at: 20) }
        #expect(story.activity() == before)
        #expect(story.activity("b") == nil)
        #expect(try story.register("b", token: 2, at: 500) == .registered)
    }
}

/// R6: fields.
struct FieldTests {
    @Test func `Facts keep the first value received`() throws {
        var story = Story()
        try story.register(at: 20, installation: .phone) {
            $0.facts.frequentPushesEnabled = false
            $0.facts.pushType = .channel
        }
        try story.register(at: 10, installation: .tablet) {
            $0.facts.frequentPushesEnabled = true
            $0.facts.attributesType = AttributesType(stored: "Delivery")
            $0.facts.pushType = .appOnly
        }
        let activity = try #require(story.activity())
        #expect(activity.installation == .phone)
        #expect(activity.facts.pushType == .channel)
        #expect(activity.facts.frequentPushesEnabled == false)
        #expect(activity.facts.attributesType == AttributesType(stored: "Delivery"))
    }

    @Test func `Aliases are replaced by the greatest observedAt, and an empty set clears them`() throws {
        var story = Story()
        try story.register(at: 20, aliases: .order("2"))
        try story.register(at: 10, aliases: .order("1"))
        #expect(story.activity()?.aliases?.value == .order("2"))
        try story.register(at: 30)
        #expect(story.activity()?.aliases?.value == .order("2"))
        try story.register(at: 40, aliases: AliasSet(stored: []))
        #expect(story.activity()?.aliases?.value == AliasSet(stored: []))
    }

    @Test func `Default aliases replace no aliases`() throws {
        var story = Story()
        try story.register(at: 10, aliases: AliasSet(stored: []))
        try story.register(at: 20) { $0.defaultAliases = .order("default") }
        #expect(story.activity()?.aliases?.value == AliasSet(stored: []))
        try story.register("b", token: 2, at: 20) { $0.defaultAliases = .order("default") }
        #expect(story.activity("b")?.aliases?.value == .order("default"))
    }
}

/// R2 and R7: owners of token values.
struct OwnerTests {
    @Test func `If two claims have the same time, the activity with the greater id owns the token`() throws {
        var story = Story()
        try story.register("b", token: 1, at: 20)
        #expect(story.rejection("a", token: 1, at: 20) == .withheld(.takenOver))
        #expect(try story.register("b", token: 1, at: 20) == .refreshed)
    }

    @Test func `An activity that loses its token must be locked first`() throws {
        var first = Story()
        try first.register("a", token: 1, at: 10)
        let values = first.rows.values.values.map(\.value)
        var story = Story(values: values, locked: ["b"])
        try story.register("b", token: 1, at: 20)
        #expect(story.rows.missingIDs == ["a"])
    }

    @Test func `A value of an installation is never an activity's token`() throws {
        var value = TokenValue(digest: TokenDigest(1))
        value.installation = TokenValue.InstallationOwner(hash: .phone, kind: "device", observedAt: Story.minute(1))
        var story = Story(values: [value])
        #expect(throws: Rejection.withheld(.kindConflict)) { try story.register(token: 1, at: 10) }
    }
}

struct ClaimantTests {
    private static let ana = UTF8Text("ana")

    static let cases:
        [(subject: UTF8Text?, installation: InstallationHash?, token: UInt8?, claimant: Claimant, may: Bool)] = [
            (ana, .phone, 1, .any, true),
            (ana, nil, 1, .subject(ana, nil), true),
            (ana, .phone, 1, .subject("bob", .phone), false),
            (ana, .phone, 1, .installation(.phone), true),
            (ana, .phone, 1, .installation(.tablet), false),
            (nil, .phone, 1, .subject("bob", .phone), true),
            (nil, .phone, 1, .subject("bob", .tablet), false),
            (nil, .phone, nil, .installation(.tablet), false),
            (ana, nil, nil, .subject("bob", .phone), false),
            (nil, nil, nil, .installation(.phone), true),
            (nil, nil, 1, .installation(.phone), false),
            (nil, nil, 1, .subject(ana, .phone), false),
        ]

    @Test(arguments: cases) func `A claimant changes only its own records`(
        record: (subject: UTF8Text?, installation: InstallationHash?, token: UInt8?, claimant: Claimant, may: Bool)
    ) throws {
        var activity = Activity(id: "a", startedAt: Story.minute(0), expiresAt: Story.minute(480))
        activity.subject = record.subject
        activity.installation = record.installation
        activity.token = record.token.map {
            TokenClaim(digest: TokenDigest($0), token: nil, observedAt: Story.minute(1), claimedAt: Story.minute(1))
        }
        let story = Story(activities: [activity])
        #expect(record.claimant.mayChange(activity) == record.may)
        #expect((story.rejection(at: 30, claimant: record.claimant) == .notYours) == !record.may)
    }

    @Test func `An erased name is rejected, and nothing is stored`() {
        var story = Story()
        #expect(throws: Rejection.erased) { try story.register(at: 10, erasedAt: 60) }
        #expect(story.activity() == nil)
    }
}
