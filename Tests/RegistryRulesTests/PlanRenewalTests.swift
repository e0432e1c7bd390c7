import RegistryCore
import RegistryRules
import Testing

/// Renewals, at minute 470. The activity runs from minute 10 to 490 and is renewed from minute 460 on.
struct PlanRenewalTests {
    private static let lease = {
        var lease = PlanDecisionTests.lease(at: 465)
        lease.replaces = "a"
        return lease
    }()

    private static func phone(_ change: (inout PlanFacts) -> Void = { _ in }) -> PlanFacts {
        PlanDecisionTests.phone {
            $0.running = running(PlanDecisionTests.activity)
            change(&$0)
        }
    }

    private static func running(_ activity: ResolvedActivity?) -> PlanFacts.RunningActivity {
        .init(deliverable: activity, reason: activity == nil ? .noToken : nil, createdAt: Story.minute(10))
    }

    private static func decide(
        _ phone: PlanFacts = phone(),
        _ lease: Lease? = nil,
        planID: UTF8Text? = "plan-2",
        at minute: Int = 470,
        _ change: (inout PlanRequest) -> Void = { _ in }
    ) -> PlanDecision {
        PlanDecisionTests.decide(phone, lease, planID: planID, at: Story.minute(minute)) {
            $0.renewBefore = .seconds(30 * 60)
            change(&$0)
        }
    }

    @Test func `An activity is renewed once its renewal time has come`() throws {
        #expect(Self.decide(at: 459) == .update(PlanDecisionTests.activity, retryAt: Story.minute(460)))
        guard case .start(let token, let lease, let replaced) = Self.decide(at: 460) else { throw Unexpected() }
        #expect(token == PushToken(bytes: [1]) && replaced == PlanDecisionTests.activity)
        #expect(lease.replaces == "a" && lease.leasedUntil == Story.minute(470))
        #expect(Self.decide { $0.renewBefore = nil } == .update(PlanDecisionTests.activity))
    }

    struct Unexpected: Error {}

    @Test func `A renewal's lease is at most as long as the plan's`() {
        #expect(Self.decide { $0.lease = .seconds(60) }.lease?.leasedUntil == Story.minute(471))
    }

    @Test func `An activity of an unknown phone, and one of another type, are not renewed`() {
        var ofNoPhone = PlanDecisionTests.activity(installation: nil)
        #expect(Self.decide(Self.phone { $0.running = Self.running(ofNoPhone) }) == .update(ofNoPhone))
        ofNoPhone = PlanDecisionTests.activity(type: "Match")
        #expect(Self.decide(Self.phone { $0.running = Self.running(ofNoPhone) }) == .update(ofNoPhone))
        let ofType = PlanDecisionTests.activity(type: "Delivery")
        #expect(Self.decide(Self.phone { $0.running = Self.running(ofType) }).lease != nil)
    }

    @Test func `While a renewal is under way, the activity is updated`() {
        let update = PlanDecision.update(PlanDecisionTests.activity, retryAt: Self.lease.leasedUntil)
        #expect(Self.decide(Self.phone(), Self.lease) == update)
        #expect(Self.decide(Self.phone(), Self.lease, planID: "plan-1").lease == Self.lease)
    }

    @Test func `A registration of the replaced activity frees no lease, and a new activity does`() {
        var phone = Self.phone { ($0.registeredAt, $0.newestAt) = (Story.minute(466), Story.minute(10)) }
        #expect(Self.decide(phone, Self.lease).lease == nil)
        phone.newestAt = Story.minute(466)
        #expect(Self.decide(phone, Self.lease).lease?.attempt == 1)
    }

    @Test func `If rules 2 to 6 allow no start, the activity is updated`() {
        let activity = PlanDecisionTests.activity
        let failed = PlanDecisionTests.failedLease(attempts: [465], at: 470)
        #expect(Self.decide(Self.phone(), failed) == .update(activity, retryAt: Story.minute(471)))
        let exhausted = PlanDecisionTests.failedLease(attempts: [440, 450, 460], at: 461)
        #expect(Self.decide(Self.phone(), exhausted) == .update(activity))
        #expect(Self.decide(Self.phone { $0.startToken = nil }) == .update(activity))
        #expect(Self.decide(Self.phone { $0.wasDismissed = true }) == .update(activity))
    }

    @Test func `Only the replaced activity is ended, once the new one has a token`() {
        let old = PlanDecisionTests.activity
        let new = Self.running(PlanDecisionTests.activity(id: "b"))
        #expect(Self.decide(Self.phone { $0.newer = Self.running(nil) }, Self.lease) == .update(old))
        #expect(Self.decide(Self.phone { $0.newer = new }, Self.lease) == .end(old))
        #expect(Self.decide(Self.phone { $0.newer = new }) == .update(old))
        #expect(Self.decide(Self.phone { $0.newer = new }, PlanDecisionTests.lease()) == .update(old))
    }

    @Test func `A lease of the plan that replaced no activity is used for its renewal`() {
        let lease = PlanDecisionTests.lease(at: 465)
        #expect(Self.decide(Self.phone(), lease, planID: "plan-1").lease?.replaces == "a")
    }

    @Test func `The lease of a renewal is not shorter than a push may take`() {
        let lease = Self.decide(at: 489) { $0.renewBefore = .seconds(90) }.lease
        #expect(lease?.leasedUntil == Story.minute(490))
    }

    @Test func `A renewal is due from its time on`() {
        let activity = PlanDecisionTests.activity
        #expect(PlanDecision.update(activity, retryAt: Story.minute(60)).isDue(at: Story.minute(60)))
        #expect(!PlanDecision.update(activity, retryAt: Story.minute(61)).isDue(at: Story.minute(60)))
        #expect(!PlanDecision.update(activity).isDue(at: Story.minute(60)))
    }

    @Test func `The facts about an older activity contain the newest as a newer one`() {
        func running(_ key: Int64) -> PlanFacts.RunningActivity {
            .init(deliverable: nil, reason: .unregistered, createdAt: Story.minute(10), key: key)
        }
        let phone = PlanDecisionTests.phone { $0.running = running(2) }
        #expect(phone.about(running(1))?.running == running(1))
        #expect(phone.about(running(1))?.newer == running(2))
        #expect(phone.about(running(2))?.running == running(2))
        #expect(phone.about(running(2))?.newer == nil)
        #expect(phone.about(running(3)) == nil)
        #expect(PlanDecisionTests.phone().about(running(1)) == nil)
    }
}

/// The end of a lease that was taken at minute 50.
struct LeaseTests {
    @Test(arguments: [
        ([50], 1), ([40, 50], 5), ([30, 40, 50], 15), ([-1381, 40, 50], 5), ([-1400, -1399, -1398], 1),
    ])
    func `The pause after a failure depends on the attempts of a day`(_ attempts: [Int], _ pause: Int) throws {
        var lease = PlanDecisionTests.lease(attempts: attempts)
        #expect(lease.fail("503", at: Story.minute(60)) == true)
        let failure = try #require(lease.failure)
        #expect(failure.at == Story.minute(60))
        #expect(failure.reason == "503")
        #expect(failure.retryAt == Story.minute(60 + pause))
        #expect(lease.leasedUntil == Story.minute(60))
    }

    @Test func `A failure counts once, and not after the lease was returned`() {
        var failed = PlanDecisionTests.failedLease(attempts: [50])
        let before = failed
        #expect(failed.fail("500", at: Story.minute(60)) == false)
        #expect(failed == before)
        var released = PlanDecisionTests.lease()
        #expect(released.release(at: Story.minute(55)) == true)
        #expect(released.fail("500", at: Story.minute(60)) == false)
        #expect(released.failure == nil)
    }

    @Test func `A failure after the end of the lease counts`() {
        var lease = PlanDecisionTests.lease()
        #expect(lease.fail("503", at: Story.minute(120)) == true)
        #expect(lease.leasedUntil == Story.minute(110))
    }

    @Test func `A returned lease is not an attempt`() {
        var lease = PlanDecisionTests.lease(attempts: [40, 50])
        #expect(lease.release(at: Story.minute(60)) == true)
        #expect(lease.attempts == [Story.minute(40)])
        #expect(lease.releasedAt == Story.minute(60))
        #expect(lease.leasedUntil == Story.minute(60))
    }

    @Test func `A lease that has ended is not returned`() {
        var expired = PlanDecisionTests.lease()
        #expect(expired.release(at: Story.minute(110)) == false)
        var failed = PlanDecisionTests.failedLease(attempts: [50])
        #expect(failed.release(at: Story.minute(60)) == false)
        var released = PlanDecisionTests.lease()
        _ = released.release(at: Story.minute(55))
        let before = released
        #expect(released.release(at: Story.minute(60)) == false)
        #expect(released == before)
        #expect(expired.attempts.count == 1)
        #expect(failed.attempts.count == 1)
    }

    @Test func `The audit shows the outcome of a lease`() {
        func state(_ lease: Lease, _ registeredAt: Timestamp?, at now: Timestamp) -> Lease.State {
            lease.state(registeredAt: registeredAt, newestAt: nil, at: now)
        }
        let now = Story.minute(60)
        let (lease, failed) = (PlanDecisionTests.lease(), PlanDecisionTests.failedLease(attempts: [50]))
        var released = lease
        _ = released.release(at: now)
        #expect(state(lease, nil, at: now) == .live)
        #expect(state(lease, nil, at: Story.minute(110)) == .expired)
        #expect(state(failed, Story.minute(50), at: now) == .failed)
        #expect(state(released, nil, at: now) == .released)
        for lease in [lease, failed, released] { #expect(state(lease, Story.minute(51), at: now) == .registered) }
    }
}

struct MetadataChannelsTests {
    @Test(
        arguments: [
            (["osVersion": "18"], true), (["osVersion": "18.0"], true), (["osVersion": "18.2.1"], true),
            (["osVersion": "26.0"], true), (["osVersion": "17.6"], false), (["osVersion": "9"], false),
            (["osVersion": ""], false), (["osVersion": "iOS 18"], false), (["osVersion": " 18"], false),
            (["osVersion": "-18"], false), (["osVersion": "99999999999999999999"], false), ([:], false),
            (["osVersion": 18], false), (["osVersion": ["18"]], false), (["OSVersion": "18"], false),
        ] as [(JSONValue, Bool)]
    )
    func `Phones known to have iOS 18 or later follow channels`(_ metadata: JSONValue, _ isSupported: Bool) throws {
        #expect(try Metadata(metadata).supportsChannels == isSupported)
    }
}
