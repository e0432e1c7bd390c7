import RegistryCore
import RegistryRules
import Testing

/// R2 and R3: tokens of one activity.
struct TokenOrderTests {
    @Test func `The first token registers, another one rotates, and the current one refreshes`() throws {
        var story = Story()
        #expect(try story.register(token: 1, at: 10) == .registered)
        #expect(try story.register(token: 2, at: 20) == .rotated)
        #expect(try story.register(token: 2, at: 20) == .refreshed)
        #expect(story.activity()?.token?.digest == TokenDigest(2))
        #expect(story.events == [.registered, .rotated])
        #expect(story.activity()?.revision == 2)
    }

    @Test func `A token with an older observedAt is superseded, but its aliases count`() throws {
        var story = Story()
        try story.register(token: 2, at: 20)
        #expect(story.rejection(token: 1, at: 10) == .superseded)
        #expect(throws: Rejection.superseded) { try story.register(token: 1, at: 10, aliases: .order("7")) }
        #expect(story.activity()?.aliases?.value == .order("7"))
        #expect(story.activity()?.token?.digest == TokenDigest(2))
    }

    @Test func `If two tokens have the same time, the token with the greater digest stays`() throws {
        var story = Story()
        try story.register(token: 2, at: 20)
        #expect(story.rejection(token: 1, at: 20) == .superseded)
        #expect(try story.register(token: 3, at: 20) == .rotated)
    }

    @Test func `Without observedAt, a new token counts as observed at its receipt`() throws {
        var story = Story(now: 60)
        try story.register(token: 1, at: 59)
        #expect(try story.register(token: 2) == .rotated)
        #expect(story.activity()?.token?.observedAt == Story.minute(60))
    }

    @Test func `Without observedAt, a retired token is superseded`() throws {
        var story = Story()
        try story.register(token: 1, at: 10)
        try story.register(token: 2, at: 20)
        #expect(story.rejection(token: 1) == .superseded)
    }

    @Test func `Without observedAt, a retired token is accepted again after another activity has claimed it`() throws {
        var story = Story()
        try story.register("a", token: 1, at: 10)
        try story.register("a", token: 2, at: 20)
        try story.register("b", token: 1, at: 30)
        #expect(try story.register("a", token: 1) == .rotated)
    }

    @Test func `Without observedAt, the current token keeps its time`() throws {
        var story = Story()
        try story.register(token: 1, at: 10)
        #expect(try story.register(token: 1) == .refreshed)
        #expect(story.activity()?.token?.observedAt == Story.minute(10))
        #expect(story.activity()?.lastObservedAt == Story.minute(10))
    }
}

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

    @Test func `A registration after the end still claims its token and its aliases`() throws {
        var story = Story()
        try story.end(at: 5)
        #expect(throws: Rejection.ended) { try story.register(token: 1, at: 30, aliases: .order("7")) }
        #expect(story.activity()?.aliases?.value == .order("7"))
        #expect(story.rows.values[TokenDigest(1)]?.value.owner?.activityID == "a")
    }

    @Test func `The earliest end and its reason are kept`() throws {
        var story = Story()
        for (minute, reason) in [(30, EndReason.ended), (20, .dismissed), (20, .ended), (40, .dismissed)] {
            try story.end(reason: reason, at: minute)
        }
        #expect(story.activity()?.end == Activity.End(at: Story.minute(20), reason: .ended))
        #expect(story.events == [.ended])
    }

    @Test func `An activity expires eight hours after its earliest start`() throws {
        var story = Story()
        try story.register(at: 50)
        try story.register(at: 55, startedAt: 0)
        #expect(story.activity()?.expiresAt == Story.minute(480))
        try story.register("b", token: 2, at: 50, startedAt: 64)
        #expect(story.activity("b")?.startedAt == Story.minute(60), "a start is never after the first receipt")
        #expect(story.later(479).state() == .active)
        #expect(story.later(480).state() == .expired)
        #expect(story.later(480).rejection(at: 479) == .expired)
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

    @Test func `The lifetime of an activity is the app's at the first receipt`() throws {
        var first = Story()
        try first.register(at: 60)
        var activity = try #require(first.activity())
        activity.expiresAt = activity.startedAt + .seconds(3600)
        var story = Story(activities: [activity])
        try story.register(at: 60, startedAt: 30)
        #expect(story.activity()?.expiresAt == Story.minute(90))
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

    @Test func `An old observation schedules no start, except in an import`() throws {
        var story = Story(now: 500)
        #expect(throws: Rejection.stale) { try story.register(at: 10, startsAt: 600) }
        #expect(try story.register(at: 10, startsAt: 600) { $0.wasAccepted = true } == .registered)
    }

    @Test func `An end at an implausible time is a fault`() {
        for (_, time) in Self.times {
            var story = Story()
            #expect(throws: Rejection.self) {
                try story.rows.end("a", reason: .ended, observedAt: time, claimant: .any, actor: "t")
            }
            #expect(story.activity() == nil)
        }
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

    @Test func `A change of aliases writes an event with the old and the new ones`() throws {
        var story = Story()
        try story.register(at: 20, aliases: .order("1"))
        try story.register(at: 30, aliases: .order("2"))
        #expect(story.events == [.registered, .aliasesChanged])
        #expect(story.rows.events.last?.aliases?.aliases.map(\.value) == ["1", "2"])
    }

    @Test func `A rotation with other aliases writes two events`() throws {
        var story = Story()
        try story.register(token: 1, at: 20, aliases: .order("1"))
        try story.register(token: 2, at: 30, aliases: .order("2"))
        #expect(story.events == [.registered, .rotated, .aliasesChanged])
        #expect(story.activity()?.revision == 2)
    }

    @Test func `Default aliases replace no aliases`() throws {
        var story = Story()
        try story.register(at: 10, aliases: AliasSet(stored: []))
        try story.register(at: 20) { $0.defaultAliases = .order("default") }
        #expect(story.activity()?.aliases?.value == AliasSet(stored: []))
        try story.register("b", token: 2, at: 20) { $0.defaultAliases = .order("default") }
        #expect(story.activity("b")?.aliases?.value == .order("default"))
    }

    @Test func `A plain refresh writes the row and no event`() throws {
        var first = Story()
        try first.register(at: 10)
        var story = first.later(61)
        try story.register(at: 10)
        #expect(story.events.isEmpty)
        #expect(story.rows.activities["a"]?.isWritten == true)
    }
}

/// R2 and R7: owners of token values.
struct OwnerTests {
    @Test func `A later activity takes over a token, which is withheld from the former activity`() throws {
        var story = Story()
        try story.register("a", token: 1, at: 10)
        #expect(try story.register("b", token: 1, at: 20) == .registered)
        #expect(story.activity("a")?.withheld == .takenOver)
        #expect(story.activity("b")?.withheld == nil)
        #expect(story.events == [.registered, .registered, .takenOver])
    }

    @Test func `If two claims have the same time, the activity with the greater id owns the token`() throws {
        var story = Story()
        try story.register("b", token: 1, at: 20)
        #expect(story.rejection("a", token: 1, at: 20) == .withheld(.takenOver))
        #expect(try story.register("b", token: 1, at: 20) == .refreshed)
    }

    @Test func `The former owner regains its token by a later claim`() throws {
        var story = Story()
        try story.register("a", token: 1, at: 10)
        try story.register("b", token: 1, at: 20)
        #expect(try story.register("a", token: 1, at: 30) == .reactivated)
        #expect(story.activity("b")?.withheld == .takenOver)
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

/// R8: dead and quarantined values.
struct WithholdingTests {
    private func story(_ change: (inout TokenValue) -> Void) throws -> Story {
        var first = Story()
        try first.register(token: 1, at: 10)
        return first.later(61, values: change)
    }

    @Test func `A claim up to the death is unregistered, and a later claim reactivates the token`() throws {
        var story = try story { $0.deadAt = Story.minute(20) }
        #expect(story.rejection(at: 20) == .withheld(.unregistered))
        #expect(story.rejection() == .withheld(.unregistered))
        #expect(throws: Rejection.withheld(.unregistered)) { try story.register(at: 15) }
        #expect(try story.register(at: 21) == .reactivated)
        #expect(story.activity()?.withheld == nil)
    }

    @Test func `A purged claim is reported as purged`() throws {
        let story = try story { ($0.deadAt, $0.purgedAt) = (Story.minute(20), Story.minute(20)) }
        #expect(story.rejection(at: 10) == .withheld(.purged))
    }

    @Test func `A confirmation without observedAt ends a quarantine`() throws {
        let quarantine = TokenValue.Quarantine(at: Story.minute(20), kind: "update", reason: "BadDeviceToken")
        var quarantined = try story { $0.quarantine = quarantine }
        try quarantined.register(at: 15)
        #expect(quarantined.activity()?.withheld == .quarantined)
        #expect(try quarantined.register() == .reactivated)
        #expect(quarantined.activity()?.withheld == nil)
    }

    @Test func `A claim with a future time counts from its receipt`() throws {
        var story = try story { $0.deadAt = Story.minute(62) }
        #expect(throws: Rejection.withheld(.unregistered)) { try story.register(at: 63) }
        story = story.later(63)
        #expect(try story.register(at: 63) == .reactivated)
    }
}

struct InstallationStateTests {
    private func story(_ times: InstallationTimes) throws -> Story {
        var first = Story()
        try first.register(at: 10, installation: .phone)
        return first.later(61, times: [.phone: times])
    }

    @Test func `A full state dismisses an activity until a later observation`() throws {
        var story = try story(InstallationTimes(fullStateAt: Story.minute(20), loggedOutAt: nil))
        #expect(story.state() == .dismissed)
        #expect(try story.register(at: 15) == .refreshed)
        #expect(story.state() == .dismissed)
        #expect(try story.register(at: 20) == .reactivated)
        #expect(story.state() == .active)
    }

    @Test func `A log-out ends activities that had started`() throws {
        let story = try story(InstallationTimes(fullStateAt: Story.minute(30), loggedOutAt: Story.minute(30)))
        #expect(story.state() == .ended)
        #expect(story.rejection(at: 40) == .ended)
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

    @Test(arguments: cases)
    func `A claimant changes only its own records`(
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
        #expect(throws: Rejection.erased) { try story.register(at: 10, isErased: true) }
        #expect(story.activity() == nil)
    }
}
