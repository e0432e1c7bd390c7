import RegistryCore
import RegistryRules
import Testing

/// R3: confirmations and observations.
struct ConfirmationTests {
    @Test func `A registration confirms its token at the receipt, and one without a token confirms nothing`() throws {
        var story = Story()
        try story.register(token: 1, at: 10)
        #expect(story.activity()?.confirmedAt == Story.minute(60))
        try story.register("b", token: nil, at: 10)
        #expect(story.activity("b")?.confirmedAt == nil)
        #expect(try story.register("b", token: 2, at: 20) == .registered)
        #expect(story.activity("b")?.token?.digest == TokenDigest(2))
        #expect(story.activity("b")?.confirmedAt == Story.minute(60))
    }

    @Test func `A registration of an ended activity confirms nothing`() throws {
        var first = Story()
        try first.register(token: 2, at: 20)
        try first.end(at: 30)
        var ended = first.later(61)
        #expect(throws: Rejection.ended) { try ended.register(token: 2, at: 20) }
        #expect(ended.activity()?.confirmedAt == Story.minute(60))
    }

    @Test func `A refresh keeps the latest observation`() throws {
        var story = Story()
        for minute in [20, 30, 10] { try story.register(at: minute) }
        #expect(story.activity()?.token?.observedAt == Story.minute(30))
        #expect(story.activity()?.token?.claimedAt == Story.minute(30))
        #expect(story.activity()?.lastObservedAt == Story.minute(30))
    }
}

/// R4 and R5: ends, expiries and starts.
struct ExpiryTests {
    /// Expired at minute 490, as a sweep recorded.
    private func expired() throws -> Story {
        var first = Story()
        try first.register(token: 1, at: 10)
        var activity = try #require(first.activity())
        activity.expiryRecordedAt = Story.minute(490)
        activity.token?.token = nil
        return Story(now: 490, activities: [activity])
    }

    @Test func `A later schedule revives an expired activity with its token`() throws {
        for (token, outcome) in [(1, .reactivated), (2, .rotated)] as [(UInt8, RegistrationOutcome)] {
            var story = try expired()
            #expect(try story.register(token: token, at: 485, startsAt: 600) == outcome)
            #expect(story.activity()?.isOver == false)
            #expect(story.activity()?.token?.token == PushToken(bytes: [token]))
            #expect(story.events == [token == 1 ? .reactivated : .rotated])
        }
    }

    @Test func `An activity that is over merges claims and aliases without a token`() throws {
        var over = try expired()
        #expect(throws: Rejection.expired) { try over.register(token: 2, at: 485) }
        var ended = Story()
        try ended.register(token: 1, at: 10)
        try ended.end(at: 20)
        #expect(throws: Rejection.ended) { try ended.register(token: 2, at: 30, aliases: .order("7")) }
        #expect(ended.activity()?.aliases?.value == .order("7"))
        #expect(ended.rows.values[TokenDigest(2)]?.value.owner?.activityID == "a")
        for story in [over, ended] {
            #expect(story.activity()?.isOver == true)
            #expect(story.activity()?.token?.digest == TokenDigest(2))
            #expect(story.activity()?.token?.token == nil)
        }
        #expect(ended.later(490).state() == .ended)
    }

    @Test func `A log-out ends an activity that starts at its time, and no expired one`() throws {
        var first = Story()
        try first.register(at: 10, installation: .phone)
        let times = [InstallationHash.phone: InstallationTimes(loggedOutAt: Story.minute(10))]
        #expect(first.later(489, times: times).state() == .ended)
        #expect(first.later(61, times: times).rejection(at: 40) == .ended)
        #expect(first.later(490, times: times).state() == .expired)
    }

    @Test func `An end returns whether the activity ran`() throws {
        var story = Story()
        try story.register(at: 10)
        var over = story.later(490)
        #expect(try over.end() == false)
        #expect(try story.end(at: 20) == true)
        #expect(try story.end(at: 15) == false)
        #expect(try story.end("unknown") == false)
        #expect(story.activity("unknown")?.end?.at == Story.minute(60))
        #expect(story.activity("unknown")?.revision == 1)
    }

    @Test func `A tombstone belongs to its caller`() throws {
        var story = Story()
        try story.end(by: .subject("ana", .phone))
        #expect(story.activity()?.subject == "ana")
        #expect(story.activity()?.installation == .phone)
        #expect(story.activity()?.expiresAt == Story.minute(60 + 480))
        #expect(throws: Rejection.notYours) { try story.end(by: .subject("bob", .tablet)) }
    }

    @Test func `The start is the least of its times, and a schedule at its observation is none`() throws {
        var story = Story()
        for _ in 1...2 { try story.register(at: 10, startedAt: 50, startsAt: 20) }
        #expect(story.activity()?.startedAt == Story.minute(10))
        #expect(story.activity()?.startsAt == Story.minute(20))
        #expect(story.activity()?.expiresAt == Story.minute(500))
        try story.register("b", token: 2, at: 10, startsAt: 10)
        #expect(story.activity("b")?.startsAt == nil)
        try story.register("c", token: 3, startsAt: 59)
        #expect(story.activity("c")?.startsAt == nil)
        var late = Story(now: 499)
        try late.register(at: 10, startedAt: 50, startsAt: 20) { $0.wasAccepted = true }
        #expect(late.state() == .active)
    }

    @Test func `A scheduled activity takes tokens that were observed more than a lifetime before`() throws {
        var first = Story()
        #expect(try first.register(at: 10, startsAt: 600) == .registered)
        var story = first.later(600)
        #expect(try story.register(token: 2, at: 60, startsAt: 600) == .rotated)
        #expect(try story.register("b", token: 3, at: 60, startsAt: 700) == .registered)
    }

    @Test func `An observation older than the tombstones schedules nothing, except in an import`() throws {
        var story = Story(now: 10 + 7 * 1440)
        #expect(throws: Rejection.stale) { try story.register(at: 10, startsAt: 20_000) }
        #expect(try story.register("b", token: 2, at: 11, startsAt: 20_000) == .registered)
        #expect(try story.register(at: 10, startsAt: 20_000) { $0.wasAccepted = true } == .registered)
    }

    @Test func `An end is final for a registration of any age`() throws {
        var first = Story()
        try first.register(at: 10)
        try first.end()
        var story = first.later(600)
        #expect(throws: Rejection.ended) { try story.register(at: 20) }
    }

    @Test func `An earlier end replaces the end, with an event`() throws {
        var story = Story()
        try story.register(at: 10)
        try story.end(at: 40)
        try story.end(reason: .dismissed, at: 30)
        try story.end(reason: .dismissed, at: 30)
        #expect(story.activity()?.end?.reason == .dismissed)
        #expect(story.activity()?.revision == 3)
        #expect(story.events == [.registered, .ended, .ended])
    }

    @Test func `A confirmation without a time states its aliases at its receipt, after an erasure`() throws {
        var story = Story()
        try story.register(at: 10)
        #expect(try story.register(aliases: .order("7"), erasedAt: 59) == .refreshed)
        #expect(throws: Rejection.erased) { try story.register(aliases: .order("7"), erasedAt: 60) }
    }

    @Test func `An activity keeps the lifetime that its app had at the first receipt`() throws {
        var first = Story()
        try first.register(at: 60)
        var activity = try #require(first.activity())
        activity.expiresAt = activity.startedAt + .seconds(3600)
        var story = Story(activities: [activity])
        #expect(story.rejection(at: 0) == .stale)
        try story.register(at: 60, startedAt: 30)
        #expect(story.activity()?.expiresAt == Story.minute(90))
    }

    @Test func `Times from September 2022 to 5 minutes ahead are plausible, and schedules to 30 days ahead`() {
        func isPlausible(_ time: Timestamp, startsAt: Timestamp? = nil) -> Bool {
            (try? Plausibility.check([("/time", time)], startsAt: startsAt, receivedAt: Story.start)) != nil
        }
        let (earliest, latest) = (Timestamp(microseconds: 715_305_600_000_000), Story.minute(5))
        #expect(isPlausible(earliest) && !isPlausible(earliest - .microseconds(1)))
        #expect(isPlausible(latest) && !isPlausible(latest + .microseconds(1)))
        let schedule = Story.minute(30 * 1440)
        #expect(isPlausible(earliest, startsAt: schedule))
        #expect(!isPlausible(earliest, startsAt: schedule + .microseconds(1)))
    }
}

/// R6 and R11: fields, revisions and events.
struct ChangeTests {
    struct Change: CustomTestStringConvertible {
        let name: String
        var startedAt: Int?
        var startsAt: Int?
        var installation: InstallationHash?
        var type: AttributesType?
        var subject: UTF8Text?
        var build: Int64?
        let revision: Int
        var testDescription: String { name }
    }

    @Test(arguments: [
        Change(name: "an earlier start", startedAt: 5, revision: 2),
        Change(name: "a schedule", startsAt: 90, revision: 2),
        Change(name: "a type", type: AttributesType(stored: "Delivery"), revision: 2),
        Change(name: "an installation", installation: .phone, revision: 1),
        Change(name: "a user", subject: "ana", revision: 1),
        Change(name: "metadata", build: 7, revision: 1),
    ])
    func `A new fact writes an event, and a new revision if senders see it`(_ change: Change) throws {
        var story = Story()
        try story.register(at: 10)
        try story.register(
            at: 10,
            startedAt: change.startedAt,
            startsAt: change.startsAt,
            installation: change.installation
        ) {
            $0.facts.attributesType = change.type
            $0.subject = change.subject
            $0.metadata = try? change.build.map { try Metadata(["build": .integer($0)]) }
        }
        #expect(story.events == [.registered, .changed])
        #expect(story.activity()?.revision == change.revision)
    }

    @Test func `An activity keeps the user and the metadata of its registrations`() throws {
        var story = Story()
        for (minute, build) in [(20, 2), (10, 1)] {
            try story.register(at: minute, claimant: .subject("ana", .phone)) {
                $0.metadata = try? Metadata(["build": .integer(Int64(build))])
            }
        }
        #expect(story.activity()?.subject == "ana")
        #expect(try story.activity()?.metadata?.value == Metadata(["build": 2]))
    }

    @Test func `Without observedAt a refresh states its aliases at its receipt`() throws {
        var story = Story()
        try story.register(at: 30, aliases: .order("2"))
        try story.register(aliases: .order("1"))
        #expect(story.activity()?.aliases?.value == .order("1"))
    }

    @Test(
        arguments: [
            (nil, 1, [.aliasesChanged]), (nil, 2, [.rotated]), ("0", 1, [.aliasesChanged]),
            ("0", 2, [.rotated, .aliasesChanged]),
        ] as [(UTF8Text?, UInt8, [NewAuditEvent.Kind])]
    )
    func `Changed aliases write an event with the old and the new ones, unless a rotation's event has all`(
        old: UTF8Text?,
        token: UInt8,
        events: [NewAuditEvent.Kind]
    ) throws {
        var story = Story()
        try story.register(token: 1, at: 10, aliases: old.map { .order($0.string) })
        try story.register(token: token, at: 20, aliases: .order("1"))
        #expect(story.events == [.registered] + events)
        #expect(story.rows.events.last?.aliases?.aliases.map(\.value) == [old, "1"].compactMap(\.self))
        #expect(story.activity()?.revision == (token == 1 ? 1 : 2))
    }
}

/// R9: full states.
struct DismissalTests {
    @Test func `A full state dismisses an activity until a later observation`() throws {
        var first = Story()
        try first.register(at: 10, installation: .phone)
        var story = first.later(61, times: [.phone: InstallationTimes(fullStateAt: Story.minute(20))])
        #expect(story.state() == .dismissed)
        #expect(try story.register(at: 15) == .refreshed)
        #expect(story.state() == .dismissed)
        #expect(try story.register(at: 20) == .reactivated)
        #expect(story.state() == .active)
    }

    @Test func `Only an observation that undoes a dismissal is reactivated`() throws {
        var first = Story()
        try first.register(at: 20, installation: .phone)
        for (fullState, outcome) in [(10, .refreshed), (20, .refreshed), (21, .reactivated)]
            as [(Int, RegistrationOutcome)]
        {
            let times = InstallationTimes(fullStateAt: Story.minute(fullState))
            var story = first.later(61, times: [.phone: times])
            #expect(try story.register(at: 25) == outcome)
            #expect(story.activity()?.revision == (outcome == .refreshed ? 1 : 2))
            #expect(story.events == (outcome == .refreshed ? [] : [.reactivated]))
        }
    }

    @Test func `A full state dismisses the running activities of its installation seen since the previous one`() throws
    {
        var first = Story()
        let minutes: [(id: ActivityID, minute: Int)] = [
            ("second", 20), ("first", 10), ("dismissed before", 9), ("later", 30), ("listed", 20), ("ended", 20),
            ("expired", 20),
        ]
        for (index, item) in minutes.enumerated() {
            try first.register(item.id, token: UInt8(index), at: item.minute, installation: .phone)
        }
        try first.register("of the tablet", token: 100, at: 20, installation: .tablet)
        try first.end("ended", at: 25)
        var activities = first.rows.activities.values.map(\.value)
        for index in activities.indices where activities[index].id == "expired" {
            activities[index].expiresAt = Story.minute(60)
        }
        var story = Story(activities: activities)
        func dismiss(_ previous: Timestamp?, in story: inout Story) -> [ActivityID] {
            let time = Story.minute(30)
            return story.rows
                .dismissUnlisted(of: .phone, at: time, previous: previous, listed: ["listed"], actor: "tester")
        }
        var fresh = story
        #expect(dismiss(nil, in: &fresh) == ["dismissed before", "first", "second"])
        let dismissed = dismiss(Story.minute(10), in: &story)
        #expect(dismissed == ["first", "second"])
        #expect(story.events == [.dismissed, .dismissed])
        for row in story.rows.activities.values {
            let revision = try #require(row.original).revision
            #expect(row.value.revision == revision + (dismissed.contains(row.value.id) ? 1 : 0))
            #expect(row.isWritten == dismissed.contains(row.value.id))
        }
    }
}

/// R2, R7 and R8: claims on values, and their events.
struct ClaimTests {
    @Test func `A superseded token claims its value, and without observedAt it claims nothing`() throws {
        var story = Story()
        try story.register(token: 2, at: 64)
        #expect(throws: Rejection.superseded) { try story.register(token: 1, at: 10) }
        #expect(throws: Rejection.superseded) { try story.register(token: 3) }
        #expect(story.rows.values[TokenDigest(1)]?.value.owner?.observedAt == Story.minute(10))
        #expect(story.rows.values[TokenDigest(3)] == nil)
    }

    @Test func `A former owner without a row, or with a new one, needs no other lock`() throws {
        var first = Story()
        try first.register("a", token: 1, at: 10)
        var story = Story(values: first.rows.values.values.map(\.value), locked: ["a", "b"])
        try story.register("b", token: 1, at: 20)
        #expect(story.rows.missingIDs.isEmpty)
        try story.register("new", token: 2, at: 10)
        try story.register("newer", token: 2, at: 20)
        #expect(story.rows.missingIDs.isEmpty)
        #expect(story.activity("new")?.withheld == .takenOver)
    }

    @Test func `A token that belongs to another activity writes an event when it becomes current`() throws {
        var story = Story()
        try story.register("b", token: 1, at: 20)
        for _ in 1...2 {
            #expect(throws: Rejection.withheld(.takenOver)) {
                try story.register("a", token: 1, at: 10, installation: .phone)
            }
            #expect(story.events == [.registered, .registered, .takenOver])
        }
        #expect(story.activity("b")?.withheld == nil)
        story = story.later(61, times: [.phone: InstallationTimes(fullStateAt: Story.minute(30))])
        #expect(try story.register("a", token: nil, at: 40) == .reactivated)
        #expect(story.events == [.reactivated])
    }
}
