import RegistryCore
import RegistryRules
import Testing

/// A record with tokens: an activity, or the device slot of an installation.
enum Holder: CaseIterable { case activity, slot }

extension Story {
    /// A claim by a record, or by another record of its type.
    ///
    /// - Returns: nil if the token does not become or stay current, or is withheld from an activity.
    @discardableResult
    mutating func claim(
        _ token: UInt8,
        at minute: Int? = nil,
        by holder: Holder,
        isOther: Bool = false
    ) throws -> RegistrationOutcome? {
        switch holder {
        case .activity:
            do {
                return try register(isOther ? "b" : "a", token: token, at: minute)
            } catch Rejection.superseded, Rejection.withheld { return nil }
        case .slot:
            let effect = try register("device", token, at: minute, of: isOther ? .tablet : .phone)
            return RegistrationOutcome(rawValue: "\(effect)")
        }
    }

    func held(
        by holder: Holder,
        isOther: Bool = false
    ) -> (token: TokenClaim?, confirmedAt: Timestamp?, withheld: WithholdingReason?) {
        switch holder {
        case .activity:
            let activity = activity(isOther ? "b" : "a")
            return (activity?.token, activity?.confirmedAt, activity?.withheld)
        case .slot:
            let slot = slot(of: isOther ? .tablet : .phone)
            return (slot?.token, slot?.confirmedAt, slot?.withheld)
        }
    }
}

/// R2, R3 and R8: the tokens of an activity, and of an installation's slot.
struct TokenOrderTests {
    @Test(arguments: Holder.allCases)
    func `The first token registers, another one rotates, and the current one refreshes`(_ holder: Holder) throws {
        var story = Story()
        #expect(try story.claim(1, at: 10, by: holder) == .registered)
        #expect(try story.claim(2, at: 20, by: holder) == .rotated)
        #expect(try story.claim(2, at: 30, by: holder) == .refreshed)
        #expect(try story.claim(1, at: 15, by: holder) == nil)
        #expect(story.held(by: holder).token?.digest == TokenDigest(2))
        #expect(story.held(by: holder).token?.observedAt == Story.minute(30))
        #expect(story.events == [.registered, .rotated])
        #expect(holder == .slot || story.activity()?.revision == 2)
    }

    @Test(arguments: Holder.allCases)
    func `If two tokens have the same time, the token with the greater digest stays`(_ holder: Holder) throws {
        var story = Story()
        try story.claim(2, at: 20, by: holder)
        #expect(try story.claim(1, at: 20, by: holder) == nil)
        #expect(try story.claim(3, at: 20, by: holder) == .rotated)
    }

    @Test(arguments: Holder.allCases)
    func `Without observedAt, the current token keeps its time, and another token gets the receipt's`(_ holder: Holder)
        throws
    {
        var story = Story(now: 60)
        try story.claim(1, at: 10, by: holder)
        #expect(try story.claim(1, by: holder) == .refreshed)
        #expect(story.held(by: holder).token?.observedAt == Story.minute(10))
        #expect(holder == .slot || story.activity()?.lastObservedAt == Story.minute(10))
        #expect(try story.claim(2, by: holder) == .rotated)
        #expect(story.held(by: holder).token?.observedAt == Story.minute(60))
    }

    @Test(arguments: Holder.allCases)
    func `A claim with a future time counts from its receipt`(_ holder: Holder) throws {
        var story = Story(now: 60)
        try story.claim(1, at: 64, by: holder)
        #expect(story.held(by: holder).token?.observedAt == Story.minute(64))
        #expect(story.held(by: holder).token?.claimedAt == Story.minute(60))
    }

    @Test(arguments: Holder.allCases)
    func `A refresh and a rotation confirm, and a superseded token does not`(_ holder: Holder) throws {
        var first = Story()
        try first.claim(2, at: 20, by: holder)
        for (token, minute, confirmed) in [(2, 20, 61), (3, 30, 61), (1, 10, 60)] as [(UInt8, Int, Int)] {
            var story = first.later(61)
            try story.claim(token, at: minute, by: holder)
            #expect(story.held(by: holder).confirmedAt == Story.minute(confirmed))
        }
        // No confirmation moves back.
        var story = first.later(62)
        try story.claim(2, at: 20, by: holder)
        story = story.later(61)
        try story.claim(2, at: 20, by: holder)
        #expect(story.held(by: holder).confirmedAt == Story.minute(62))
    }

    @Test(arguments: Holder.allCases) func `A plain refresh writes the row and no event`(_ holder: Holder) throws {
        var first = Story()
        try first.claim(1, at: 10, by: holder)
        var story = first.later(61)
        try story.claim(1, at: 10, by: holder)
        #expect(story.events.isEmpty)
        #expect(story.rows.activities.values.allSatisfy { $0.isWritten })
        #expect(story.rows.installations.slots.values.allSatisfy { $0.isWritten })
        #expect(holder == .activity || story.rows.values.values.allSatisfy { $0.isWritten })
    }

    @Test(arguments: Holder.allCases)
    func `A later record takes over a token, and the former one regains it by a later claim`(_ holder: Holder) throws {
        var first = Story()
        try first.claim(1, at: 10, by: holder)
        var story = first.later(61)
        #expect(try story.claim(1, at: 20, by: holder, isOther: true) == .registered)
        #expect(story.held(by: holder).withheld == .takenOver)
        #expect(story.held(by: holder, isOther: true).withheld == nil)
        #expect(story.events == [.registered, .takenOver])
        story = story.later(62)
        #expect(try story.claim(1, at: 30, by: holder) == .reactivated)
        #expect(story.held(by: holder, isOther: true).withheld == .takenOver)
    }

    @Test(arguments: Holder.allCases)
    func `A claim up to the death is unregistered, and a later claim reactivates the token`(_ holder: Holder) throws {
        var first = Story()
        try first.claim(1, at: 10, by: holder)
        var story = first.later(61) { $0.deadAt = Story.minute(20) }
        for time in [10, 15, 20, nil] {
            #expect(try story.claim(1, at: time, by: holder) == (holder == .slot ? .refreshed : nil))
            #expect(story.held(by: holder).withheld == .unregistered)
        }
        #expect(try story.claim(1, at: 21, by: holder) == .reactivated)
        #expect(story.held(by: holder).withheld == nil)
    }

    @Test(arguments: Holder.allCases, [WithholdingReason.unregistered, .purged])
    func `A dead or purged token writes an event when it becomes current`(
        _ holder: Holder,
        _ reason: WithholdingReason
    ) throws {
        var value = TokenValue(digest: TokenDigest(2))
        value.deadAt = Story.minute(30)
        if reason == .purged { value.purgedAt = value.deadAt }
        var (story, fresh) = (Story(values: [value]), Story(values: [value]))
        try story.claim(1, at: 10, by: holder)
        for _ in 1...2 {
            try story.claim(2, at: 20, by: holder)
            #expect(story.events == [.registered, .rotated, .dropped])
        }
        #expect(story.held(by: holder).withheld == reason)
        try fresh.claim(2, at: 20, by: holder)
        #expect(fresh.events == [.registered, .dropped])
    }

    @Test(arguments: Holder.allCases)
    func `A confirmation without observedAt ends a quarantine, and revives no dead token`(_ holder: Holder) throws {
        var first = Story()
        try first.claim(1, at: 10, by: holder)
        let quarantine = TokenValue.Quarantine(at: Story.minute(20), kind: "any", reason: "BadDeviceToken")
        var story = first.later(61) { $0.quarantine = quarantine }
        try story.claim(1, at: 15, by: holder)
        #expect(story.held(by: holder).withheld == .quarantined)
        #expect(try story.claim(1, by: holder) == .reactivated)
        #expect(story.held(by: holder).withheld == nil)
        var dead = first.later(61) { ($0.quarantine, $0.deadAt) = (quarantine, Story.minute(20)) }
        try dead.claim(1, by: holder)
        #expect(dead.held(by: holder).withheld == .unregistered)
    }
}

/// R2 and R3: tokens of one activity.
struct ActivityTokenTests {
    @Test func `A token with an older observedAt is superseded, but its aliases count`() throws {
        var story = Story()
        try story.register(token: 2, at: 20)
        #expect(story.rejection(token: 1, at: 10) == .superseded)
        #expect(throws: Rejection.superseded) { try story.register(token: 1, at: 10, aliases: .order("7")) }
        #expect(story.activity()?.aliases?.value == .order("7"))
        #expect(story.activity()?.token?.digest == TokenDigest(2))
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
}
