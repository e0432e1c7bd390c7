import RegistryCore
import RegistryRules
import Testing

/// Activities known to callers only by a name and its owner.
struct NameIdentityTests {
    private func identity(
        _ identity: inout NameIdentity,
        in story: Story,
        token: UInt8 = 1,
        at observedAt: Int? = nil,
        claimant: Claimant = .any
    ) throws(Rejection) -> ActivityID {
        var body = ActivityRegistration(token: PushToken(bytes: [token]))
        body.observedAt = observedAt.map { Story.minute($0).date }
        let rows = story.rows
        return try identity.activity(of: body, digest: TokenDigest(token), claimant: claimant, in: rows, newID: "new")
    }

    @Test func `The first registration begins an activity`() throws {
        var name = NameIdentity(activityID: nil, endedAt: nil)
        #expect(try identity(&name, in: Story(), at: 10) == "new")
        #expect(name.activityID == "new")
    }

    @Test func `A running activity keeps its id for every later token`() throws {
        var story = Story()
        try story.register("a", token: 1, at: 10)
        var name = NameIdentity(activityID: "a", endedAt: nil)
        #expect(try identity(&name, in: story, token: 2, at: 20) == "a")
        #expect(try identity(&name, in: story, token: 2) == "a")
    }

    @Test func `An observation no later than the last end is rejected, and a later one begins an activity`() throws {
        var story = Story()
        try story.register("a", token: 1, at: 10)
        try story.end(at: 30)
        var name = NameIdentity(activityID: "a", endedAt: Story.minute(30))
        #expect(throws: Rejection.ended) { try identity(&name, in: story, token: 2, at: 30) }
        #expect(throws: Rejection.ended) { try identity(&name, in: story, token: 1) }
        #expect(try identity(&name, in: story, token: 2, at: 31) == "new")
    }

    @Test func `After an expiry, a new token begins an activity`() throws {
        var story = Story()
        try story.register("a", token: 1, at: 10)
        let later = story.later(500)
        var name = NameIdentity(activityID: "a", endedAt: nil)
        #expect(try identity(&name, in: later, token: 1) == "a")
        #expect(try identity(&name, in: later, token: 2, at: 480) == "a")
        #expect(try identity(&name, in: later, token: 2) == "new")
    }

    @Test func `An end before the current activity's observations ends an earlier one`() throws {
        var story = Story()
        try story.register("a", token: 1, at: 40)
        var name = NameIdentity(activityID: "a", endedAt: nil)
        #expect(try name.end(observedAt: Story.minute(30), in: story.rows, newID: "new") == nil)
        #expect(name.endedAt == Story.minute(30))
        #expect(try name.end(observedAt: nil, in: story.rows, newID: "new") == "a")
        #expect(name.endedAt == Story.minute(60))
    }

    @Test func `The end of an unknown name gets a tombstone`() throws {
        var name = NameIdentity(activityID: nil, endedAt: nil)
        #expect(try name.end(observedAt: Story.minute(30), in: Story().rows, newID: "new") == "new")
        #expect(throws: Rejection.ended) { try identity(&name, in: Story(), at: 30) }
    }

    @Test func `Implausible times and foreign activities are rejected`() throws {
        var story = Story()
        try story.register("a", token: 1, at: 10, installation: .phone)
        var name = NameIdentity(activityID: "a", endedAt: nil)
        #expect(throws: Rejection.self) { try identity(&name, in: story, at: 70) }
        var ended = NameIdentity(activityID: "a", endedAt: Story.minute(30))
        #expect(throws: Rejection.notYours) {
            try identity(&ended, in: story, at: 20, claimant: .installation(.tablet))
        }
        #expect(throws: Rejection.self) { try name.end(observedAt: Story.minute(70), in: story.rows, newID: "new") }
        #expect(name == NameIdentity(activityID: "a", endedAt: nil))
    }

    @Test func `A repeated token that was observed after the end or expiry begins an activity`() throws {
        var story = Story()
        try story.register("a", token: 1, at: 10)
        let over = story.later(500)
        var name = NameIdentity(activityID: "a", endedAt: nil)
        #expect(try identity(&name, in: over, token: 1, at: 491) == "new")
        name = NameIdentity(activityID: "a", endedAt: nil)
        #expect(try identity(&name, in: over, token: 2, at: 490) == "new")
        try story.end("a", at: 30)
        name = NameIdentity(activityID: "a", endedAt: Story.minute(30))
        #expect(try identity(&name, in: story, token: 1, at: 31) == "new")
    }

    @Test func `An end without observedAt is later than the observation of a fast clock`() throws {
        var story = Story(now: 60)
        try story.register("a", token: 1, at: 64)
        var name = NameIdentity(activityID: "a", endedAt: nil)
        #expect(try name.end(observedAt: nil, in: story.rows, newID: "new") == "a")
        #expect(name.endedAt == Story.minute(64))
        var unknown = NameIdentity(activityID: nil, endedAt: nil)
        #expect(try unknown.end(observedAt: nil, in: story.rows, newID: "new") == "new")
        #expect(unknown.endedAt == Story.minute(60))
    }

    @Test func `The latest end stays, and an end at the last observation ends the activity`() throws {
        var story = Story()
        try story.register("a", token: 1, at: 40)
        var name = NameIdentity(activityID: "a", endedAt: nil)
        #expect(try name.end(observedAt: Story.minute(40), in: story.rows, newID: "new") == "a")
        #expect(try name.end(observedAt: Story.minute(30), in: story.rows, newID: "new") == nil)
        #expect(name.endedAt == Story.minute(40))
    }

    @Test(arguments: [30, 40]) func `An end by id or a log-out covers its time and the last observation`(_ end: Int)
        throws
    {
        var first = Story()
        try first.register("a", token: 1, at: 10, installation: .phone)
        try first.register("a", token: 1, at: 35)
        let loggedOut = first.later(60, times: [.phone: InstallationTimes(loggedOutAt: Story.minute(end))])
        try first.end("a", at: end)
        for story in [first, loggedOut] {
            var name = NameIdentity(activityID: "a", endedAt: nil)
            let last = max(end, 35)
            #expect(throws: Rejection.ended) { try identity(&name, in: story, token: 2, at: last) }
            #expect(try identity(&name, in: story, token: 2, at: last + 1) == "new")
        }
    }
}
