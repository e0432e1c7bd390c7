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

    @Test func `A token comes back after the data of its later owner was erased`() throws {
        var first = Story()
        try first.register("device", 1, at: 20)
        first = first.later(60)
        try first.register("device", 1, at: 30, of: .tablet)
        let phone = first.rows.installations.slots.values.map(\.value).filter { $0.id.installation == .phone }
        #expect(phone.map(\.withheld) == [.takenOver])
        var story = Story(now: 61, installations: InstallationRows(installations: [first.phone], slots: phone))
        #expect(try story.register("device", 1) == .reactivated)
        #expect(story.slot()?.withheld == nil)
        #expect(story.rows.events.map(\.tokenDigest) == [TokenDigest(1)])
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
}

/// R6 and R9 for installations: users, log-outs and full states.
struct InstallationTimesTests {
    @Test func `The latest registration of another user removes aliases of its time or earlier`() throws {
        var story = Story()
        try story.put("1", at: 20, by: "ana")
        try story.put(at: 20, by: "bob")
        #expect(story.phone.subject == "bob")
        #expect(story.phone.aliases == nil)
        for (user, minute, latest) in [("cy", 40, 40), ("ana", 30, 40), ("ana", 50, 50)] as [(UTF8Text, Int, Int)] {
            try story.put(at: minute, by: user)
            #expect(story.phone.takenOverAt == Story.minute(latest))
        }
    }

    @Test(
        arguments: [("bob", 20, true), ("ana", 20, false), (nil, 20, false), (nil, 30, true)]
            as [(UTF8Text?, Int, Bool)]
    )
    func `A profile older than a takeover counts if it is the owner's`(
        _ user: UTF8Text?,
        _ minute: Int,
        _ counts: Bool
    ) throws {
        var story = Story()
        try story.put("1", at: 10, by: "ana")
        try story.fullState(at: 30, by: "bob")
        try story.put("2", at: minute, by: user)
        #expect((story.phone.aliases != nil) == counts)
    }

    @Test func `New metadata writes an event`() throws {
        var story = Story()
        try story.put(metadata: 1, at: 20)
        try story.put(metadata: 2, at: 30)
        #expect(story.events == [.installationChanged, .installationChanged])
    }

    @Test func `Without observedAt a user registers at the receipt`() throws {
        var story = Story()
        try story.put("1", by: "ana")
        #expect(story.phone.subjectObservedAt == Story.minute(60))
        #expect(story.phone.aliases?.observedAt == Story.minute(60))
    }

    @Test(arguments: [[20, 30], [30, 20]]) func `The latest log-out and the latest full state count`(_ times: [Int])
        throws
    {
        var story = Story()
        for time in times { try story.logOut(at: time) }
        #expect(story.phone.times == InstallationTimes(fullStateAt: Story.minute(30), loggedOutAt: Story.minute(30)))
        for time in times { try story.fullState(at: time + 20) }
        try story.logOut(at: 35)
        #expect(story.phone.times == InstallationTimes(fullStateAt: Story.minute(50), loggedOutAt: Story.minute(35)))
    }

    @Test func `A token observed before a log-out is still refused to another user`() throws {
        var story = Story()
        try story.logOut(at: 30)
        try story.put(at: 40, by: "ana")
        #expect(throws: Rejection.notYours) { try story.register("device", 1, at: 20, by: "bob") }
    }

    @Test func `A stored installation is not new, and an unlocked one gives its user to events`() throws {
        var first = Story()
        try first.register("device", 1, at: 10, of: .tablet, by: "ana")
        let slots = first.rows.installations.slots.values.map(\.value)
        var story = Story(
            values: first.rows.values.values.map(\.value),
            installations: InstallationRows(
                installations: [Installation(hash: .phone)],
                slots: slots,
                others: [first.rows.installations[.tablet]]
            )
        )
        #expect(!story.rows.installations.isNew(.phone))
        #expect(story.rows.installations.isNew(.tablet))
        try story.register("device", 1, at: 20)
        #expect(story.events == [.registered, .takenOver])
        #expect(story.rows.events.last?.subject == "ana")
    }
}

/// R3 for the tokens of installations: times.
struct SlotTimesTests {
    @Test func `A refresh keeps the latest claim, and a rotation has its own`() throws {
        var first = Story()
        try first.register("device", 1, at: 10)
        let quarantine = TokenValue.Quarantine(at: Story.minute(20), kind: "device", reason: "BadDeviceToken")
        var story = first.later(61) { $0.quarantine = quarantine }
        #expect(try story.register("device", 1) == .reactivated)
        #expect(try story.register("device", 1, at: 15) == .refreshed)
        #expect(story.slot()?.token?.claimedAt == Story.minute(61))
        #expect(try story.register("device", 2, at: 20) == .rotated)
        #expect(story.slot()?.token?.claimedAt == Story.minute(20))
    }

    @Test(arguments: [[15, 20], [20, 15]]) func `The latest deletion counts`(_ times: [Int]) throws {
        var story = Story()
        for time in times { try story.delete("device", at: time) }
        #expect(story.slot()?.deletedAt == Story.minute(20))
    }

    @Test func `The later of deletion and log-out removes a token`() throws {
        var story = Story()
        try story.delete("device", at: 20)
        try story.logOut(at: 30)
        #expect(try story.register("device", 1, at: 25) == .removed)
    }

    @Test func `Without observedAt a deletion is at the receipt, and gives the installation its user`() throws {
        var story = Story()
        try story.delete("device", by: "ana")
        #expect(story.phone.subject == "ana")
        #expect(story.slot()?.deletedAt == Story.minute(60))
        try story.register("widget", 1, at: 10)
        try story.delete("widget")
        #expect(story.slot("widget")?.deletedAt == Story.minute(60))
    }

    @Test func `A deletion ends the withholding, and the next token is reactivated`() throws {
        var story = Story()
        try story.register("device", 1, at: 20, of: .tablet)
        try story.register("device", 1, at: 10)
        #expect(story.slot()?.withheld == .takenOver)
        try story.delete("device", at: 20)
        #expect(story.slot()?.withheld == nil)
        #expect(try story.register("device", 2, at: 30) == .reactivated)
        #expect(story.events.suffix(2) == [.deleted, .reactivated])
    }
}

/// R7 for the tokens of installations: claims on values, and their events.
struct SlotClaimTests {
    private func value(_ token: UInt8, in story: Story) -> TokenValue? { story.rows.values[TokenDigest(token)]?.value }

    @Test func `A superseded token claims its value, and without observedAt only the current one does`() throws {
        var first = Story()
        try first.register("a", token: 3, at: 10)
        var story = first.later(60)
        try story.register("device", 2, at: 64)
        #expect(try story.register("device", 1, at: 10) == .superseded)
        #expect(value(1, in: story)?.installation?.observedAt == Story.minute(10))
        #expect(try story.register("device", 3) == .superseded)
        #expect(value(3, in: story)?.installation == nil)
        #expect(story.events == [.registered])
        try story.register("widget", 4)
        #expect(value(4, in: story)?.installation?.observedAt == Story.minute(60))
    }

    @Test(arguments: [[10, 20], [20, 10]]) func `The latest claim of a start token counts`(_ times: [Int]) throws {
        var first = Story()
        try first.register("a", token: 1, at: 10)
        var story = first.later(60)
        for time in times { try story.register("start", 1, at: time, type: "Delivery") }
        #expect(value(1, in: story)?.startObservedAt == Story.minute(20))
        #expect(story.activity()?.withheld == nil)
        #expect(story.events == [.registered])
    }

    @Test func `A device token takes its value from an expired activity without an event`() throws {
        var first = Story()
        try first.register("a", token: 1, at: 40)
        var story = first.later(520)
        try story.register("device", 1, at: 515)
        #expect(story.activity()?.withheld == .kindConflict)
        #expect(story.events == [.registered])
    }

    @Test func `A token of another owner writes an event when it becomes current`() throws {
        var story = Story()
        try story.register("device", 1, at: 20, of: .tablet)
        try story.register("device", 2, at: 5)
        story = story.later(61)
        for _ in 1...2 {
            try story.register("device", 1, at: 10)
            #expect(story.events == [.rotated, .takenOver])
        }
        try story.delete("device", at: 11)
        try story.register("device", 1, at: 12)
        #expect(story.events.suffix(3) == [.deleted, .reactivated, .takenOver])
    }

    @Test func `A token of another kind writes an event, unless its kind has no owners`() throws {
        var story = Story()
        try story.register("device", 1, at: 20)
        try story.register("start", 1, at: 30, type: "Delivery")
        #expect(story.events == [.registered, .registered])
        try story.register("widget", 1, at: 10)
        #expect(story.events.suffix(2) == [.registered, .takenOver])
    }
}
