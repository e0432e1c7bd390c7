import RegistryCore
import RegistryRules
import Testing

/// The rules of a plan (see the guide for senders), at minute 60.
struct PlanDecisionTests {
    private static let alias = Alias(checkedKind: "liveactivityId", value: "order-42")
    private static let (start, device) = (PushToken(bytes: [1]), PushToken(bytes: [2]))
    private static let newID = LeaseID(stored: [UInt8](repeating: 9, count: 16))

    static func request(_ planID: UTF8Text? = nil) -> PlanRequest {
        var request = PlanRequest(alias: alias, attributesType: AttributesType(stored: "Delivery"))
        request.planID = planID
        return request
    }

    /// A lease of plan-1 for one hour.
    static func lease(_ planID: UTF8Text? = "plan-1", at minute: Int = 50, attempts: [Int]? = nil) -> Lease {
        Lease(
            installation: .phone,
            alias: alias,
            id: LeaseID(stored: [UInt8](repeating: 1, count: 16)),
            planID: planID,
            attributesType: AttributesType(stored: "Delivery"),
            leasedAt: Story.minute(minute),
            leasedUntil: Story.minute(minute + 60),
            attempts: (attempts ?? [minute]).map(Story.minute)
        )
    }

    static func failedLease(attempts: [Int], at minute: Int = 55) -> Lease {
        var lease = lease(at: attempts.last ?? 50, attempts: attempts)
        _ = lease.fail("503", at: Story.minute(minute))
        return lease
    }

    /// A phone with both tokens, with the start token confirmed an hour ago.
    static func phone(_ change: (inout PlanFacts) -> Void = { _ in }) -> PlanFacts {
        var phone = PlanFacts(installation: .phone)
        (phone.startToken, phone.startConfirmedAt) = (start, Story.minute(0))
        phone.deviceToken = device
        change(&phone)
        return phone
    }

    private static func running(
        since minute: Int = 10,
        reason: TokenAvailability = .noToken,
        isDeliverable: Bool = false
    ) -> PlanFacts.RunningActivity {
        isDeliverable
            ? .init(deliverable: activity, reason: nil, createdAt: Story.minute(minute))
            : .init(deliverable: nil, reason: reason, createdAt: Story.minute(minute))
    }

    static let activity = activity()

    static func activity(
        id: ActivityID = "a",
        installation: InstallationHash? = .phone,
        type: UTF8Text? = nil
    ) -> ResolvedActivity {
        var facts = ActivityFacts()
        facts.attributesType = type.map(AttributesType.init(stored:))
        return ResolvedActivity(
            key: 1,
            activityID: id,
            token: PushToken(bytes: [3]),
            installation: installation,
            facts: facts,
            startedAt: Story.minute(10).date,
            observedAt: Story.minute(10).date,
            confirmedAt: Story.minute(10).date,
            expiresAt: Story.minute(490).date,
            revision: 1
        )
    }

    static func decide(
        _ phone: PlanFacts,
        _ lease: Lease? = nil,
        planID: UTF8Text? = "plan-2",
        hasChannel: Bool = false,
        at now: Timestamp = Story.minute(60),
        _ change: (inout PlanRequest) -> Void = { _ in }
    ) -> PlanDecision {
        var request = request(planID)
        change(&request)
        return request.decide(phone, lease, hasChannel: hasChannel, newID: newID, at: now)
    }

    struct Case: CustomTestStringConvertible {
        let testDescription: String
        let phone: PlanFacts
        let lease: Lease?
        let hasChannel: Bool
        let decision: PlanDecision

        init(
            _ name: String,
            _ decision: PlanDecision,
            _ lease: Lease? = nil,
            hasChannel: Bool = false,
            _ change: (inout PlanFacts) -> Void = { _ in }
        ) {
            (testDescription, self.decision, self.lease) = (name, decision, lease)
            (self.hasChannel, phone) = (hasChannel, PlanDecisionTests.phone(change))
        }
    }

    /// Each row also meets the conditions of all later rules.
    static let cases = [
        Case("1: a deliverable activity", .update(activity), lease(), hasChannel: true) {
            ($0.running, $0.wasDismissed) = (running(isDeliverable: true), true)
        },
        Case("1: no token yet, with a channel", .none(.channel), lease(), hasChannel: true) {
            ($0.running, $0.wasDismissed) = (running(), true)
        },
        Case("1: no token by design, by a channel that the alias does not have", .none(.channel)) {
            $0.running = running(reason: .channel)
        },
        Case("1: no token by design, although the alias has a channel", .none(.noPush), hasChannel: true) {
            $0.running = running(reason: .noPush)
        },
        Case("1: no token within the first minute", .wait(.tokenPending, until: Story.minute(61)), lease()) {
            ($0.running, $0.wasDismissed) = (running(since: 60), true)
        },
        Case("1: no token after a minute", .alert(.noUpdateToken, device), lease()) {
            ($0.running, $0.wasDismissed) = (running(since: 59), true)
        },
        Case("1: a withheld token, with a channel", .alert(.noUpdateToken, device), hasChannel: true) {
            $0.running = running(reason: .unregistered)
        },
        Case("2: dismissed", .alert(.dismissed, device), lease()) { $0.wasDismissed = true },
        Case("3: leased", .wait(.leased, until: Story.minute(110)), lease(attempts: [0, 1, 50])),
        Case("4: three attempts", .alert(.startFailed, device), failedLease(attempts: [0, 1, 50], at: 59)),
        Case("4: failed just now", .wait(.backOff, until: Story.minute(61)), failedLease(attempts: [50], at: 60)),
        Case("6: an old start token", .alert(.startUnconfirmed, device)) {
            $0.startConfirmedAt = Story.minute(60) - .seconds(14 * 86_400)
        },
        Case("6: an old start token alone", .none(.startUnconfirmed)) {
            ($0.startConfirmedAt, $0.deviceToken) = (nil, nil)
        },
        Case("6: a device token alone", .alert(.noStartToken, device)) { $0.startToken = nil },
        Case("6: no token", .none(.noStartToken)) { ($0.startToken, $0.deviceToken) = (nil, nil) },
    ]

    @Test(arguments: cases) func `The first rule that applies decides`(_ test: Case) {
        #expect(Self.decide(test.phone, test.lease, hasChannel: test.hasChannel) == test.decision)
    }

    @Test func `A start by rule 5 takes a lease`() throws {
        let lease = try #require(Self.decide(Self.phone()).lease)
        #expect(lease.id == Self.newID)
        #expect(lease.planID == "plan-2")
        #expect(lease.position == nil)
        #expect(lease.leasedAt == Story.minute(60))
        #expect(lease.leasedUntil == Story.minute(120))
        #expect(lease.attempts == [Story.minute(60)])
        #expect(lease.attempt == 1)
        #expect(Self.decide(Self.phone()) { $0.lease = .seconds(120) }.lease?.leasedUntil == Story.minute(62))
    }

    @Test func `A channel, a pause that is over and, on request, a dismissal do not prevent a start`() {
        #expect(Self.decide(Self.phone(), hasChannel: true).lease != nil)
        #expect(Self.decide(Self.phone(), Self.failedLease(attempts: [50], at: 59)).lease?.id == Self.newID)
        #expect(Self.decide(Self.phone { $0.wasDismissed = true }) { $0.restartsDismissed = true }.lease != nil)
    }

    @Test func `An active lease is returned unchanged to its plan, and to no plan without a name`() {
        for attempts in [[50], [0, 1, 50]] {
            let lease = Self.lease(attempts: attempts)
            #expect(Self.decide(Self.phone(), lease, planID: "plan-1").lease == lease)
        }
        #expect(Self.decide(Self.phone(), Self.lease(), planID: nil).lease == nil)
        #expect(Self.decide(Self.phone(), Self.lease(nil), planID: nil).lease == nil)
        let phone = Self.phone { $0.startToken = nil }
        #expect(Self.decide(phone, Self.lease(), planID: "plan-1") == .alert(.noStartToken, Self.device))
    }

    @Test func `A registration after the lease frees it, and the attempts no longer count`() throws {
        for known in [Self.lease(attempts: [0, 1, 50]), Self.failedLease(attempts: [0, 1, 50], at: 60)] {
            var known = known
            known.position = RowPosition(page: 0, item: 1)
            #expect(Self.decide(Self.phone { $0.registeredAt = Story.minute(50) }, known).lease == nil)
            let phone = Self.phone { $0.registeredAt = Story.minute(51) }
            for planID: UTF8Text in ["plan-1", "plan-2"] {
                let lease = try #require(Self.decide(phone, known, planID: planID).lease)
                #expect(lease.id == Self.newID)
                #expect(lease.attempt == 1)
                #expect(lease.position == known.position)
            }
        }
    }

    @Test func `A lease ends at its time, and its attempts count for a day`() throws {
        let lease = Self.lease(at: 2, attempts: [0, 1, 2])
        let end = Story.minute(62)
        #expect(Self.decide(Self.phone(), lease, at: end - .microseconds(1)) == .wait(.leased, until: end))
        #expect(Self.decide(Self.phone(), lease, at: end) == .alert(.startFailed, Self.device))
        let dayLater = Story.minute(24 * 60)
        #expect(Self.decide(Self.phone(), lease, at: dayLater - .microseconds(1)).lease == nil)
        let next = try #require(Self.decide(Self.phone(), lease, at: dayLater).lease)
        #expect(next.attempts == [1, 2, 24 * 60].map(Story.minute))
        #expect(next.attempt == 3)
        #expect(try #require(Self.decide(Self.phone(), lease, at: dayLater + .seconds(60)).lease).attempt == 2)
    }

    @Test func `A failed or returned lease is not active for a plan that began before`() {
        let failed = Self.failedLease(attempts: [50], at: 60)
        let end = PlanDecision.wait(.backOff, until: Story.minute(61))
        #expect(Self.decide(Self.phone(), failed, planID: "plan-1", at: Story.minute(59)) == end)
        var released = Self.lease()
        #expect(released.release(at: Story.minute(60)) == true)
        #expect(Self.decide(Self.phone(), released, planID: "plan-1", at: Story.minute(59)).lease?.id == Self.newID)
    }

    @Test func `A renewal whose activity ended keeps the activity that it replaces`() {
        var lease = Self.lease()
        lease.replaces = "a"
        #expect(Self.decide(Self.phone(), lease, planID: "plan-1").lease == lease)
    }
}
