import PushTokenRegistryTestSupport
import Testing

@testable import PushTokenRegistry

/// C13: each kind of response has one consequence, which affects its own entry only.
@Suite struct OutboxAnswerTests {
    private let played = PlayedOutbox()

    private static func refused(_ code: String, isKept: Bool, _ name: LiveActivityRegistry.Subject = .activity("a-1"))
        -> LiveActivityRegistry.Event
    { .refused(name, code: .init(rawValue: code), detail: "Because.", isKept: isKept) }

    @Test(arguments: [(403, "forbidden"), (404, "unknown-app"), (401, "unauthenticated")])
    func `Reports with 403, 404, or 401 to the key are retried hourly for a day`(status: Int, code: String) throws {
        played.add(.token("aa"), at: 0)
        var tries = 0
        while tries < 100, let entry = played.send() {
            tries += 1
            played.answer(entry, .problem(status, code))
            guard let pause = played.pause else { break }
            #expect(pause == 3600)
            played.now += pause
        }
        #expect(tries == 25)
        #expect(played.outbox.entries.isEmpty)
        #expect(played.told == [Self.refused(code, isKept: true), Self.refused(code, isKept: false)])
    }

    @Test func `A refused log-out is retried hourly until it is confirmed`() throws {
        played.add(.logOut, at: 0)
        for _ in 0..<30 {
            played.answerAll(.problem(403, "forbidden"))
            played.now += try #require(played.pause)
        }
    }

    @Test(arguments: [(401, "unauthenticated"), (403, "alias-not-allowed"), (404, "unknown-app"), (409, "superseded")])
    func `A refused report blocks no report of another subject`(status: Int, code: String) throws {
        for index in 0..<5 { played.add(.token("aa", of: "a-\(index)"), at: Double(index)) }
        played.answer(try #require(played.send()), .problem(status, code))
        #expect(played.sent().map(\.subject) == (1..<5).map { .activity("a-\($0)") })
    }

    @Test func `401 to the key in place of a signed-out user keeps the report`() throws {
        played.add(.end(), at: 0, by: .user("u-7"))
        played.answer(try #require(played.send()), .problem(401, "unauthenticated"), authority: .installation)
        #expect(played.told == [Self.refused("unauthenticated", isKept: true, .end(ofActivity: "a-1"))])
        #expect(played.pause == 3600)
    }

    @Test func `401 to a JWT keeps the report, which pauses longer after each refusal, and emits one event`() {
        played.add(.token("aa"), at: 0, by: .user("u-7"))
        for pause in [1.0, 2, 4] {
            played.answerAll(.problem(401, "unauthenticated"))
            #expect(played.pause == pause)
            played.now += pause
        }
        #expect(played.told == [Self.refused("unauthenticated", isKept: true)])
    }

    @Test func `An end that the next user's JWT may not report is repeated after a second, then hourly`() {
        played.add(.end(), at: 0, by: .user("u-7"))
        for pause in [1.0, 3600, 3600] {
            played.answerAll(.problem(403, "not-yours"))
            #expect(played.pause == pause)
            played.now += pause
        }
    }

    @Test func `Without a credential the owner's reports wait, and the others are sent`() throws {
        played.add(.token("aa"), at: 0, by: .user("u-7"))
        played.add(.token("bb", of: "a-2"), at: 1)
        let first = try #require(played.send())
        played.outbox.credentialIsMissing(for: first, until: .seconds(30))
        #expect(played.sent().map(\.owner) == [.installation])
        #expect(played.pause == 30)
        played.outbox.credentialCame(for: .user("u-7"))
        #expect(played.sent().map(\.owner) == [.user("u-7")])
    }

    @Test func `An expired activity that runs here is observed again, once`() throws {
        played.running = ["a-1"]
        // Merged, so that the entry has a start of its own.
        for time in [0.0, 1] { played.add(.token("aa"), at: time) }
        played.now = 9
        played.answerAll(.problem(410, "activity-expired"))
        #expect(played.told.isEmpty)
        #expect(played.outbox.entries.map(\.observedAt) == [.at(9)])
        #expect(played.outbox.entries[0].report.registration?.startedAt == .at(9))
        played.answerAll(.problem(410, "activity-expired"))
        #expect(played.outbox.entries.isEmpty)
        #expect(played.told == [Self.refused("activity-expired", isKept: false)])
    }

    @Test(arguments: [("activity-ended", true), ("activity-expired", false)])
    func `An activity that ended, or does not run here, is not observed again`(code: String, isListed: Bool) {
        if isListed { played.running = ["a-1"] }
        played.add(.token("aa"), at: 1)
        played.answerAll(.problem(410, code))
        #expect(played.told == [Self.refused(code, isKept: false)])
        #expect(played.outbox.entries.isEmpty)
    }

    @Test func `After 422 clock-skew the report is sent again at once, then with pauses, then dropped`() {
        played.add(.token("aa"), at: 1)
        played.answerAll(.problem(422, "clock-skew"))
        #expect(played.told.isEmpty)
        played.answerAll(.problem(422, "clock-skew"))
        #expect(played.pause == 2)
        for _ in 0..<2 {
            played.now += 100
            played.answerAll(.problem(422, "clock-skew"))
        }
        #expect(played.outbox.entries.isEmpty, "it does not help")
    }

    @Test func `C21: a sign-in precedes other reports, even after a long time offline`() {
        played.add(.installation(aliases: [:], metadata: nil), at: 1, by: .user("u-7"))
        played.add(.token("aa"), at: 2, by: .user("u-7"))
        for _ in 0..<5 {
            played.answerAll(.notSent)
            played.now += 600
        }
        #expect(played.sent().map(\.subject) == [.installation])
    }

    @Test func `C21: a 410 that a wrong clock caused repeats the report once, so corrections cause no loop`() {
        played.isCorrected = true
        played.add(.token("aa"), at: 1)
        played.answerAll(.problem(410, "activity-expired"))
        #expect(played.told.isEmpty)
        played.answerAll(.problem(410, "activity-expired"))
        #expect(played.told == [Self.refused("activity-expired", isKept: false)])
        #expect(played.outbox.entries.isEmpty)
    }

    @Test func `After a time offline, 422 clock-skew still repeats the report at once`() {
        played.add(.token("aa"), at: 1)
        for _ in 0..<5 {
            played.answerAll(.none)
            played.now += 600
        }
        played.told = []
        played.answerAll(.problem(422, "clock-skew"))
        #expect(played.told.isEmpty)
        #expect(played.sent().count == 1)
    }

    @Test func `Refusals of the clock and of the credential are counted separately`() {
        played.add(.token("aa"), at: 1, by: .user("u-7"))
        for _ in 0..<2 { played.answerAll(.problem(422, "clock-skew")) }
        played.now += 600
        played.answerAll(.problem(401, "unauthenticated"))
        #expect(played.told.count == 1)
        played.now += 600
        played.answerAll(.problem(422, "clock-skew"))
        #expect(played.outbox.entries.count == 1)
    }

    @Test func `An accepted sign-in retries the user's refused reports`() throws {
        played.add(.start("aa"), at: 1, by: .user("u-7"))
        played.answerAll(.problem(403, "not-yours"))
        played.add(.installation(aliases: [:], metadata: nil), at: 2, by: .user("u-7"))
        played.answerAll(.accepted)
        #expect(played.sent().map(\.subject) == [.startToken(attributesType: "Delivery")])
    }
}
