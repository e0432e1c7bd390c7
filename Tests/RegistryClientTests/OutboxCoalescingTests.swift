import RegistryClientTestSupport
import Testing

@testable import RegistryClient

/// C9: a key has one entry, which says all that its reports said.
@Suite struct OutboxCoalescingTests {
    @Test("Of two tokens of one activity the one that was observed later is sent", arguments: [[1.0, 2], [2, 1]])
    func theLaterTokenIsSent(times: [Double]) throws {
        let played = PlayedOutbox()
        played.add(.token(times[0] == 1 ? "aa" : "bb"), at: times[0])
        played.add(.token(times[1] == 1 ? "aa" : "bb"), at: times[1])
        let sent = played.sent()
        #expect(sent.count == 1)
        #expect(try #require(sent.first).report.token == "bb")
        #expect(try #require(sent.first).observedAt == .at(2))
    }

    @Test("Activities, types and owners have entries of their own") func keysAreApart() {
        let played = PlayedOutbox()
        played.add(.token("aa", of: "a-1"), at: 1)
        played.add(.token("bb", of: "a-2"), at: 1)
        played.add(.start("cc", of: "Delivery"), at: 1)
        played.add(.start("cc", of: "Match"), at: 1)
        played.add(.installationToken(.device, Token(hex: "dd")), at: 1)
        played.add(.installationToken(.device, Token(hex: "dd")), at: 1, by: .user("u-7"))
        #expect(played.outbox.entries.count == 6)
    }

    @Test("Ids that Swift takes for equal are apart, as the registry has them") func idsAreBytes() {
        let played = PlayedOutbox()
        played.add(.token("aa", of: "K"), at: 1)
        played.add(.token("bb", of: "\u{212A}"), at: 2)
        #expect(played.outbox.entries.count == 2)
    }

    @Test func `The entry of two registrations keeps the facts of the first and the start of the earlier`() throws {
        var first = ActivityRegistration(activityID: "a-1", token: Token(hex: "aa"))
        (first.attributesType, first.frequentPushesEnabled, first.aliases) = ("Delivery", true, ["team": ["x"]])
        var second = ActivityRegistration(activityID: "a-1", token: Token(hex: "bb"))
        (second.attributesType, second.frequentPushesEnabled) = ("Other", false)
        let played = PlayedOutbox()
        played.add(.registration(first), at: 1)
        played.add(.registration(second), at: 2)
        let merged = try #require(played.send()?.report.registration)
        #expect(merged.attributesType == "Delivery")
        #expect(merged.frequentPushesEnabled == true)
        #expect(merged.aliases == ["team": ["x"]])
        #expect(merged.startedAt == .at(1), "the registry takes the first observation for the start")
    }

    @Test("A schedule stays while it lies ahead, and becomes the start once it has passed", arguments: [5.0, 20])
    func schedules(second: Double) throws {
        var scheduled = ActivityRegistration(activityID: "a-1", token: Token(hex: "aa"))
        scheduled.startsAt = .at(10)
        let played = PlayedOutbox()
        played.add(.registration(scheduled), at: 1)
        played.add(.token("bb"), at: second)
        let merged = try #require(played.send()?.report.registration)
        #expect(merged.startsAt == (second < 10 ? .at(10) : nil))
        #expect(merged.startedAt == (second < 10 ? .at(1) : .at(10)))
    }

    @Test func `The newest full state is sent; a token that only an earlier one had keeps its time`() throws {
        var known = ActivityRegistration(activityID: "a-1", token: Token(hex: "aa"))
        known.attributesType = "Delivery"
        let played = PlayedOutbox()
        played.add(.fullState([known, ActivityRegistration(activityID: "a-2", token: nil)]), at: 1)
        played.add(.fullState([ActivityRegistration(activityID: "a-1", token: nil)]), at: 2)
        var listed = ActivityRegistration(activityID: "a-1", token: nil)
        (listed.attributesType, listed.startedAt) = ("Delivery", .at(1))
        let sent = played.sent()
        #expect(sent.map(\.report) == [.registration(known), .fullState([listed])])
        #expect(sent.map(\.observedAt) == [.at(1), .at(2)])
    }

    @Test("A start token that is taken back and given again is sent once, as it is now") func startTokens() {
        let played = PlayedOutbox()
        for (index, token) in ["aa", nil, "bb", nil].enumerated() { played.add(.start(token), at: Double(index)) }
        #expect(played.sent().map(\.report) == [.start(nil)])
    }

    @Test("At most 500 wait; the oldest that is no end is given up, and told") func theOutboxIsBounded() {
        let played = PlayedOutbox()
        played.add(.end("ended"), at: 0)
        for index in 1...505 { played.add(.token("aa", of: "a-\(index)"), at: Double(index)) }
        #expect(played.outbox.entries.count == Outbox.limit)
        #expect(played.keys.contains(.end(ofActivity: "ended")))
        #expect(played.events == (1...6).map { .dropped(.activity("a-\($0)"), .outboxFull) })
    }

    @Test func `Entries that come of full states have ids of their own, so that the answer to one settles no other`() {
        let played = PlayedOutbox()
        // The first id is odd, and those that follow are even.
        played.add(.start("aa"), at: 0)
        let activities = ["a-1", "a-2"].map { ActivityRegistration(activityID: UTF8Text($0), token: Token(hex: "aa")) }
        for second in [1.0, 3] {
            played.add(.fullState(activities), at: second)
            played.add(.logOut, at: second + 1)
        }
        #expect(Set(played.outbox.entries.map(\.id)).count == 3)
        var told: [ReportName] = []
        while let entry = played.send() {
            told.append(entry.name)
            played.answer(entry, .accepted([]))
        }
        #expect(Set(told) == [.logOut, .end(ofActivity: "a-1"), .end(ofActivity: "a-2")])
    }
}
