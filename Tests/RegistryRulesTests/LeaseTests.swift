import RegistryCore
import RegistryRules
import Testing

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
        for lease in [lease, failed, released] {
            #expect(state(lease, Story.minute(51), at: now) == .registered)
        }
    }
}
