import PushTokenRegistryTestSupport
import Testing

@testable import PushTokenRegistry

/// C9: a subject has one entry with the content of all its reports.
@Suite struct OutboxCoalescingTests {
    @Test(arguments: [[1.0, 2], [2, 1]])
    func `Only the token with the later observation is sent`(times: [Double]) throws {
        let played = PlayedOutbox()
        played.add(.token(times[0] == 1 ? "aa" : "bb"), at: times[0])
        played.add(.token(times[1] == 1 ? "aa" : "bb"), at: times[1])
        let sent = played.sent()
        #expect(sent.count == 1)
        #expect(try #require(sent.first).report.token == "bb")
        #expect(try #require(sent.first).observedAt == .at(2))
    }

    @Test func `Activities, types and owners have separate entries`() {
        let played = PlayedOutbox()
        played.add(.token("aa", of: "a-1"), at: 1)
        played.add(.token("bb", of: "a-2"), at: 1)
        played.add(.start("cc", of: "Delivery"), at: 1)
        played.add(.start("cc", of: "Match"), at: 1)
        played.add(.installationToken(.device, PushToken(hex: "dd")), at: 1)
        played.add(.installationToken(.device, PushToken(hex: "dd")), at: 1, by: .user("u-7"))
        #expect(played.outbox.entries.count == 6)
    }

    @Test func `Merged registrations keep the first facts and the earlier start`() throws {
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

    @Test(arguments: [5.0, 20])
    func `A future schedule is kept, and a past schedule becomes the start`(second: Double) throws {
        var scheduled = ActivityRegistration(activityID: "a-1", token: PushToken(hex: "aa"))
        scheduled.startsAt = .at(10)
        let played = PlayedOutbox()
        played.add(.registration(scheduled), at: 1)
        played.add(.token("bb"), at: second)
        let merged = try #require(played.send()?.report.registration)
        #expect(merged.startsAt == (second < 10 ? .at(10) : nil))
        #expect(merged.startedAt == (second < 10 ? .at(1) : .at(10)))
    }

    @Test func `Beyond 500 entries the oldest, except ends, are dropped with an event`() {
        let played = PlayedOutbox()
        played.add(.end("ended"), at: 0)
        for index in 1...505 { played.add(.token("aa", of: "a-\(index)"), at: Double(index)) }
        #expect(played.outbox.entries.count == Outbox.limit)
        #expect(played.keys.contains(.end(ofActivity: "ended")))
        #expect(played.events == (1...6).map { .dropped(.activity("a-\($0)")) })
    }

    @Test func `A log-out replaces a waiting registration with an end that has its own id`() {
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
