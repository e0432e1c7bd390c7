import PushTokenRegistryTestSupport
import Testing

@testable import PushTokenRegistry

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
        played.add(.installationToken(.device, PushToken(hex: "dd")), at: 1)
        played.add(.installationToken(.device, PushToken(hex: "dd")), at: 1, by: .user("u-7"))
        #expect(played.outbox.entries.count == 6)
    }

    @Test func `The entry of two registrations keeps the facts of the first and the start of the earlier`() throws {
        var first = ActivityRegistration(activityID: "a-1", token: PushToken(hex: "aa"))
        (first.attributesType, first.frequentPushesEnabled, first.aliases) = ("Delivery", true, ["team": ["x"]])
        var second = ActivityRegistration(activityID: "a-1", token: PushToken(hex: "bb"))
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
        var scheduled = ActivityRegistration(activityID: "a-1", token: PushToken(hex: "aa"))
        scheduled.startsAt = .at(10)
        let played = PlayedOutbox()
        played.add(.registration(scheduled), at: 1)
        played.add(.token("bb"), at: second)
        let merged = try #require(played.send()?.report.registration)
        #expect(merged.startsAt == (second < 10 ? .at(10) : nil))
        #expect(merged.startedAt == (second < 10 ? .at(1) : .at(10)))
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

    @Test func `A log-out replaces a waiting registration by the end of its activity, with an id of its own`() {
        let played = PlayedOutbox()
        // The first id is odd, and the later ones are even.
        played.add(.start("aa"), at: 0)
        for second in [1.0, 3] {
            for id in ["a-1", "a-2"] { played.add(.token("aa", of: id), at: second) }
            played.add(.logOut, at: second + 1)
        }
        #expect(Set(played.outbox.entries.map(\.id)).count == 3)
        #expect(Set(played.keys) == [.logOut, .end(ofActivity: "a-1"), .end(ofActivity: "a-2")])
    }
}
