import RegistryCore
import RegistryRules
import Testing

/// R3 for the tokens of installations.
struct TokenSlotTests {
    @Test func `A deletion removes earlier observations, in either order`() throws {
        for isFirst in [true, false] {
            var story = Story()
            if isFirst { try story.delete("device", at: 20) }
            #expect(try story.register("device", 1, at: 20) == (isFirst ? .removed : .registered))
            if !isFirst { try story.delete("device", at: 20) }
            #expect(story.slot()?.token?.token == nil)
            #expect(try story.register("device", 2, at: 19) == .removed)
            #expect(try story.register("device", 1, at: 21) == .reactivated)
            try story.delete("device", at: 15)
            #expect(story.slot()?.token?.token != nil)
        }
    }

    @Test func `A deletion without observedAt removes the record of a fast clock`() throws {
        var story = Story(now: 60)
        try story.register("device", 1, at: 64)
        try story.delete("device")
        #expect(story.slot()?.token?.token == nil)
        #expect(story.slot()?.deletedAt == Story.minute(64))
        #expect(story.events == [.registered, .deleted])
    }

    @Test func `An installation has start tokens of a limited number of attributes types`() throws {
        var story = Story()
        try story.register("device", 2, at: 10)
        for number in 1...128 { try story.register("start", 1, at: 10, type: UTF8Text("\(number)")) }
        #expect(throws: Rejection.noRoom) { try story.register("start", 1, at: 10, type: "new") }
        #expect(try story.register("start", 1, at: 11, type: "7") == .refreshed)
        #expect(try story.register("start", 1, at: 10, type: "new", of: .tablet) == .registered)
        #expect(try story.register("widget", 3, at: 10) == .registered)
    }
}

/// R7 and R8 for the tokens of installations.
struct InstallationValueTests {
    @Test func `Start tokens may repeat`() throws {
        var story = Story()
        try story.register("start", 1, at: 10, type: "Delivery")
        try story.register("start", 1, at: 20, type: "Delivery", of: .tablet)
        #expect(story.slot("start", type: "Delivery")?.withheld == nil)
        #expect(story.slot("start", type: "Delivery", of: .tablet)?.withheld == nil)
    }

    @Test func `A device token replaces an activity token and a start token with the same value`() throws {
        var first = Story()
        try first.register("a", token: 1, at: 40)
        try first.register("start", 1, at: 50, type: "Delivery", of: .tablet)
        var story = first.later(61)
        #expect(try story.register("device", 1, at: 10) == .registered)
        #expect(story.slot()?.withheld == nil)
        #expect(story.activity()?.withheld == .kindConflict)
        #expect(story.slot("start", type: "Delivery", of: .tablet)?.withheld == .kindConflict)
        #expect(story.events == [.registered, .takenOver, .takenOver])
        try story.register("device", 1, at: 20)
        #expect(story.events.count == 3)
    }

    @Test func `An activity that loses its token to a device token must be locked first`() throws {
        var first = Story()
        try first.register("a", token: 1, at: 40)
        var story = first.later(61, locked: [])
        try story.register("device", 1, at: 10)
        #expect(story.rows.missingIDs == ["a"])
    }

    @Test func `A known device token is not a token of another kind`() throws {
        var story = Story()
        try story.register("device", 1, at: 20)
        #expect(try story.register("start", 1, at: 30, type: "Delivery") == .registered)
        #expect(story.slot("start", type: "Delivery")?.withheld == .kindConflict)
        try story.register("widget", 1, at: 10)
        #expect(story.slot("widget")?.withheld == .kindConflict)
        story = story.later(61)
        try story.register("widget", 1, at: 30)
        #expect(story.slot("widget")?.withheld == nil)
        #expect(story.slot()?.withheld == .kindConflict)
    }

    private func dead(_ change: (inout TokenValue) -> Void) throws -> Story {
        var first = Story()
        try first.register("device", 1, at: 10)
        return first.later(61, values: change)
    }
}
