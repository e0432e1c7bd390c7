import PushTokenRegistryTestSupport
import Testing

@testable import PushTokenRegistry

/// C9: a subject has one entry with the content of all its reports.
@Suite struct OutboxCoalescingTests {
    private let played = PlayedOutbox()

    @Test(arguments: [[1.0, 2], [2, 1]])
    func `Only the token with the later observation is sent`(times: [Double]) throws {
        played.add(.token(times[0] == 1 ? "aa" : "bb"), at: times[0])
        played.add(.token(times[1] == 1 ? "aa" : "bb"), at: times[1])
        let sent = played.sent()
        #expect(sent.count == 1)
        #expect(try #require(sent.first).report.token == "bb")
        #expect(try #require(sent.first).observedAt == .at(2))
    }

    @Test func `Activities, types and owners have separate entries`() {
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
        played.add(.registration(scheduled), at: 1)
        played.add(.token("bb"), at: second)
        let merged = try #require(played.send()?.report.registration)
        #expect(merged.startsAt == (second < 10 ? .at(10) : nil))
        #expect(merged.startedAt == (second < 10 ? .at(1) : .at(10)))
    }

    @Test func `Beyond 500 entries the oldest, except ends, are dropped with an event`() {
        played.add(.end("ended"), at: 0)
        for index in 1...505 { played.add(.token("aa", of: "a-\(index)"), at: Double(index)) }
        #expect(played.outbox.entries.count == Outbox.limit)
        #expect(played.keys.contains(.end(ofActivity: "ended")))
        #expect(played.events == (1...6).map { .dropped(.activity("a-\($0)")) })
    }

    @Test func `A log-out replaces a waiting registration with an end that has its own id`() {
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

/// C9, C18: cases in which the order of requests matters.
@Suite struct OutboxOrderTests {
    private let played = PlayedOutbox()

    @Test(arguments: [1.0, 9])
    func `An end replaces every registration of its activity, earlier or later`(time: Double) {
        played.add(.token("aa"), at: time)
        played.add(.token("bb", of: "a-2"), at: 1)
        played.add(.end(), at: 5)
        #expect(Set(played.keys) == [.end(ofActivity: "a-1"), .activity("a-2")])
    }

    @Test func `A registration is dropped while the end of its activity waits`() {
        played.add(.end(), at: 5)
        played.add(.token("aa"), at: 9)
        #expect(played.sent().map(\.report) == [.end()])
    }

    @Test func `The first end keeps its reason and time`() throws {
        played.add(.end(isDismissal: false), at: 1)
        played.add(.end(isDismissal: true), at: 2)
        let entry = try #require(played.send())
        #expect(entry.report == .end(isDismissal: false))
        #expect(entry.observedAt == .at(1))
    }

    @Test func `A log-out drops its user's earlier reports except ends`() {
        let user = Owner.user("u-7")
        played.add(.token("aa"), at: 1, by: user)
        played.add(.start("bb"), at: 2, by: user)
        played.add(.fullState([]), at: 2, by: user)
        played.add(.end("a-2"), at: 3, by: user)
        played.add(.installationToken(.device, PushToken(hex: "cc")), at: 3, by: .user("u-8"))
        played.add(.logOut, at: 4, by: user)
        played.add(.start("dd"), at: 5, by: user)
        #expect(
            played.keys == [
                .end(ofActivity: "a-2"), .deviceToken, .end(ofActivity: "a-1"), .logOut,
                .startToken(attributesType: "Delivery"),
            ]
        )
        #expect(played.outbox.entries.last?.observedAt == .at(5))
    }

    @Test func `The later of two log-outs replaces the earlier`() {
        played.add(.logOut, at: 1)
        played.add(.logOut, at: 5)
        #expect(played.outbox.entries.map(\.observedAt) == [.at(5)])
    }

    @Test func `A log-out precedes later reports, and an end waits for no other report`() throws {
        played.add(.logOut, at: 1, by: .user("u-7"))
        played.add(.installation(aliases: [:], metadata: nil), at: 2, by: .user("u-8"))
        played.add(.start("aa"), at: 3, by: .user("u-8"))
        played.add(.end("a-9"), at: 4, by: .user("u-8"))
        let first = played.sent()
        #expect(first.map(\.subject) == [.logOut, .end(ofActivity: "a-9")])
        played.answer(try #require(first.first), .accepted)
        #expect(played.sent().map(\.subject) == [.installation], "the user takes the installation over first")
    }

    @Test(arguments: [(ResponseClass.problem(403, "forbidden"), 1), (.retryLater(after: nil), 3)])
    func `A log-out that is refused or unanswered blocks no other report`(response: ResponseClass, count: Int) throws {
        played.add(.logOut, at: 1, by: .user("u-7"))
        played.add(.start("aa"), at: 3, by: .user("u-8"))
        for _ in 0..<count {
            played.now += 600
            let logOut = try #require(played.send())
            #expect(logOut.subject == .logOut)
            played.answer(logOut, response)
        }
        #expect(played.sent().map(\.subject) == [.startToken(attributesType: "Delivery")])
    }

    @Test func `A response to a replaced entry does not remove its replacement`() throws {
        played.add(.token("aa"), at: 1)
        let first = try #require(played.send())
        played.add(.token("bb"), at: 2)
        played.answer(first, .accepted)
        #expect(played.send()?.report.token == "bb")
    }

    @Test func `At most four requests are under way at once`() throws {
        for index in 0..<6 { played.add(.token("aa", of: "a-\(index)"), at: Double(index)) }
        let first = played.sent()
        #expect(first.count == Outbox.mostUnderWay)
        played.answer(try #require(first.first), .accepted)
        #expect(played.sent().count == 1)
    }
}

/// C13: pauses of single entries, and of all entries during silence.
@Suite struct OutboxPauseTests {
    private let played = PlayedOutbox()

    @Test(arguments: [(0.0, 0.5), (1.0, 1.0)])
    func `Pauses double up to five minutes, and half of each is random`(jitter: Double, factor: Double) throws {
        played.jitter = jitter
        played.add(.token("aa"), at: 0)
        for pause in [1.0, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300] {
            played.answerAll(.retryLater(after: nil))
            #expect(played.pause == pause * factor)
            played.now += pause
        }
    }

    @Test func `Retry-After is obeyed, even at the foreground`() {
        played.add(.token("aa"), at: 0)
        played.answerAll(.retryLater(after: .seconds(40)))
        #expect(played.pause == 40)
        played.outbox.retryNow()
        #expect(played.pause == 40)
    }

    @Test func `Retry-After is obeyed, even after a sign-in`() throws {
        let user = Owner.user("u-7")
        played.add(.start("aa"), at: 1, by: user)
        for (status, code) in [(403, "not-yours"), (401, "unauthenticated")] {
            played.answerAll(.problem(status, code))
            played.now += try #require(played.pause)
        }
        played.answerAll(.retryLater(after: .seconds(4000)))
        #expect(played.sent() == [])
        played.add(.installation(aliases: [:], metadata: nil), at: 2, by: user)
        played.answerAll(.accepted)
        #expect(played.sent() == [] && played.pause == 4000)
    }

    @Test(arguments: [ResponseClass.retryLater(after: nil), .none, .problem(403, "forbidden")])
    func `The foreground ends all other pauses`(responseClass: ResponseClass) {
        played.add(.token("aa"), at: 0)
        played.answerAll(responseClass)
        #expect(played.pause != nil)
        played.outbox.retryNow()
        #expect(played.sent().count == 1)
    }

    @Test func `During silence one entry at a time is tried, each in turn`() throws {
        for index in 0..<4 { played.add(.token("aa", of: "a-\(index)"), at: Double(index)) }
        played.answer(try #require(played.send()), .none)
        var keys: Set<LiveActivityRegistry.Subject> = []
        for _ in 0..<3 {
            played.now += try #require(played.pause)
            let sent = played.sent()
            #expect(sent.count == 1)
            keys.formUnion(sent.map(\.subject))
            for entry in sent { played.answer(entry, .none) }
        }
        #expect(keys == [.activity("a-1"), .activity("a-2"), .activity("a-3")])
        #expect(played.told == [.unreachable(since: Timestamp.at(0).date)], "it is told once")
    }

    @Test func `The first response ends the pauses of all unanswered entries`() throws {
        for index in 0..<3 { played.add(.token("aa", of: "a-\(index)"), at: Double(index)) }
        for entry in played.sent() { played.answer(entry, .none) }
        played.now += 4
        played.answer(try #require(played.send()), .accepted)
        #expect(played.sent().count == 2)
    }

    @Test func `A report that is never answered does not delay a new report`() throws {
        played.add(.token("aa", of: "poison"), at: 0)
        for _ in 0..<8 {
            played.now += played.pause ?? 0
            played.answerAll(.none)
        }
        #expect(try #require(played.pause) > 60)
        played.add(.token("bb", of: "a-2"), at: 1)
        #expect(played.send()?.subject == .activity("a-2"))
    }
}
