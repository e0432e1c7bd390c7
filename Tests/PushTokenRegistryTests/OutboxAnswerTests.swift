import PushTokenRegistryTestSupport
import Testing

@testable import PushTokenRegistry

/// C13: each kind of answer has one consequence, and none of them is another key's.
@Suite struct OutboxAnswerTests {
    private static func refused(_ code: String, isKept: Bool, _ name: LiveActivityRegistry.Subject = .activity("a-1"))
        -> Outbox.Effect
    {
        .emit(.refused(name, code: .init(rawValue: code), detail: "Because.", isKept: isKept))
    }

    @Test("An accepted report is settled and told") func acceptedIsSettled() {
        let played = PlayedOutbox()
        played.add(.token("aa"), at: 1)
        played.answerAll(.accepted)
        #expect(played.outbox.entries.isEmpty)
        #expect(played.effects == [.emit(.registered(.activity("a-1")))])
    }

    @Test(arguments: [
        (409, "superseded"), (410, "activity-ended"), (410, "activity-expired"), (422, "invalid-request"),
        (413, "body-too-large"),
    ])
    func `A refusal that nothing will change is settled and told`(status: Int, code: String) {
        let played = PlayedOutbox()
        played.add(.token("aa"), at: 1)
        played.answerAll(.problem(status, code))
        #expect(played.outbox.entries.isEmpty)
        #expect(played.effects == [Self.refused(code, isKept: false)])
    }

    @Test(arguments: [(403, "forbidden"), (404, "unknown-app"), (401, "unauthenticated")])
    func `403, 404 and 401 to the key are told once and tried hourly for a day`(status: Int, code: String) throws {
        let played = PlayedOutbox()
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
        #expect(played.effects == [Self.refused(code, isKept: true), Self.refused(code, isKept: false)])
    }

    @Test(arguments: [(401, "unauthenticated"), (403, "alias-not-allowed"), (404, "unknown-app"), (409, "superseded")])
    func `A refusal of one key blocks no other`(status: Int, code: String) throws {
        let played = PlayedOutbox()
        for index in 0..<5 { played.add(.token("aa", of: "a-\(index)"), at: Double(index)) }
        played.answer(try #require(played.send()), .problem(status, code))
        #expect(played.sent().map(\.subject) == (1..<5).map { .activity("a-\($0)") })
    }

    @Test("401 to the publishable key in the place of one who signed out is kept for a day, and asks for no credential")
    func unauthenticatedForOneWhoIsGone() throws {
        let played = PlayedOutbox()
        played.add(.end(), at: 0, by: .user("u-7"))
        played.answer(try #require(played.send()), .problem(401, "unauthenticated"), authority: .installation)
        #expect(played.effects == [Self.refused("unauthenticated", isKept: true, .end(ofActivity: "a-1"))])
        #expect(played.pause == 3600)
    }

    @Test("401 asks for a new credential, and keeps the report") func unauthenticated() throws {
        let played = PlayedOutbox()
        played.add(.token("aa"), at: 0, by: .user("u-7"))
        played.answerAll(.problem(401, "unauthenticated"))
        #expect(played.effects.first == .renewCredential(.user("u-7")))
        #expect(played.sent().isEmpty)
        played.outbox.credentialWasRenewed(for: .user("u-7"))
        #expect(played.sent().count == 1)
    }

    @Test("A new credential that is refused too waits, whatever it is renewed to") func wrongCredentialsAreNoLoop() {
        let played = PlayedOutbox()
        played.add(.token("aa"), at: 0, by: .user("u-7"))
        for _ in 0..<2 {
            played.answerAll(.problem(401, "unauthenticated"))
            played.outbox.credentialWasRenewed(for: .user("u-7"))
        }
        #expect(played.pause == 2)
    }

    @Test("Without a credential an owner's reports wait, and others go") func missingCredential() throws {
        let played = PlayedOutbox()
        played.add(.token("aa"), at: 0, by: .user("u-7"))
        played.add(.token("bb", of: "a-2"), at: 1)
        let first = try #require(played.send())
        played.outbox.credentialIsMissing(for: first.id, of: first.owner)
        #expect(played.sent().map(\.owner) == [.installation])
        played.outbox.credentialCame(for: .user("u-7"))
        #expect(played.sent().map(\.owner) == [.user("u-7")])
    }

    @Test("An expired activity that runs here is observed anew, once") func expiredButRunning() {
        let played = PlayedOutbox()
        played.running = ["a-1"]
        played.add(.token("aa"), at: 1)
        played.answerAll(.problem(410, "activity-expired"))
        guard case .reobserve(let registration, .installation) = played.effects.first else {
            Issue.record("it was not observed anew")
            return
        }
        let anew = Report.registration(registration)
        _ = played.outbox.add(anew, observedAt: .at(9), owner: .installation, id: 77, isReobservation: true)
        played.answerAll(.problem(410, "activity-expired"))
        #expect(played.outbox.entries.isEmpty)
        #expect(played.effects.last == Self.refused("activity-expired", isKept: false), "the second time it is settled")
    }

    @Test("An ended activity is not observed anew though it is still listed") func endedIsFinal() {
        let played = PlayedOutbox()
        played.running = ["a-1"]
        played.add(.token("aa"), at: 1)
        played.answerAll(.problem(410, "activity-ended"))
        #expect(played.effects.count == 1)
        #expect(played.outbox.entries.isEmpty)
    }

    @Test func `A clock that is ahead is corrected and the report sent again at once, and then with pauses`() {
        let played = PlayedOutbox()
        played.add(.token("aa"), at: 1)
        played.answerAll(.problem(422, "clock-skew"))
        #expect(played.effects.isEmpty)
        played.answerAll(.problem(422, "clock-skew"))
        #expect(played.pause == 2)
        for _ in 0..<2 {
            played.now += 100
            played.answerAll(.problem(422, "clock-skew"))
        }
        #expect(played.outbox.entries.isEmpty, "it does not help")
    }

    @Test("C21: a running activity that only a wrong clock took for over is not observed anew, but sent again, once")
    func expiredByAWrongClock() {
        let played = PlayedOutbox()
        played.running = ["a-1"]
        played.isCorrected = true
        played.add(.token("aa"), at: 1)
        played.answerAll(.problem(410, "activity-expired"))
        #expect(played.effects.isEmpty)
        #expect(played.sent().count == 1)
    }

    @Test("C21: a sign-in precedes the rest, however long the phone was offline") func offlineForLong() {
        let played = PlayedOutbox()
        played.isSent = false
        played.add(.installation(aliases: [:], metadata: nil), at: 1, by: .user("u-7"))
        played.add(.token("aa"), at: 2, by: .user("u-7"))
        for _ in 0..<5 {
            played.answerAll(.none)
            played.now += 600
        }
        #expect(played.sent().map(\.subject) == [.installation])
    }

    @Test("C21: a clock that is put right each time is no loop") func expiredTwice() {
        let played = PlayedOutbox()
        played.isCorrected = true
        played.add(.token("aa"), at: 1)
        for _ in 0..<2 { played.answerAll(.problem(410, "activity-expired")) }
        #expect(played.effects == [Self.refused("activity-expired", isKept: false)])
        #expect(played.outbox.entries.isEmpty)
    }

    /// A report that was tried in vain so often that its next try would have been its last one.
    private static func silent(by owner: Owner = .installation) -> PlayedOutbox {
        let played = PlayedOutbox()
        played.add(.token("aa"), at: 1, by: owner)
        for _ in 0..<5 {
            played.answerAll(.none)
            played.now += 600
        }
        played.effects = []
        return played
    }

    @Test("A phone that was offline has its clock corrected as one that was not: its report is sent again at once")
    func clockSkewAfterSilence() {
        let played = Self.silent()
        played.answerAll(.problem(422, "clock-skew"))
        #expect(played.effects.isEmpty)
        #expect(played.sent().count == 1)
    }

    @Test func `A credential that is refused after silence is told, and its renewal ends the pause, once`() {
        let played = Self.silent(by: .user("u-7"))
        played.answerAll(.problem(401, "unauthenticated"))
        let told = Self.refused("unauthenticated", isKept: true)
        #expect(played.effects == [.renewCredential(.user("u-7")), told])
        #expect(played.pause == 1, "the first pause after a refusal, however long the silence was")
        played.outbox.credentialWasRenewed(for: .user("u-7"))
        played.answerAll(.problem(401, "unauthenticated"))
        #expect(played.effects == [.renewCredential(.user("u-7")), told, .renewCredential(.user("u-7"))])
        played.outbox.credentialWasRenewed(for: .user("u-7"))
        #expect(played.pause == 2)
    }

    @Test("A clock that was refused says nothing of the credential, nor the other way round") func refusalsApart() {
        let played = PlayedOutbox()
        played.add(.token("aa"), at: 1, by: .user("u-7"))
        for _ in 0..<2 { played.answerAll(.problem(422, "clock-skew")) }
        played.now += 600
        played.answerAll(.problem(401, "unauthenticated"))
        #expect(played.effects.count == 2, "it is told")
        played.outbox.credentialWasRenewed(for: .user("u-7"))
        played.answerAll(.problem(422, "clock-skew"))
        #expect(played.outbox.entries.count == 1)
    }

    @Test("Once the installation is the user's, their refused reports are tried again") func takenOver() throws {
        let played = PlayedOutbox()
        played.add(.start("aa"), at: 1, by: .user("u-7"))
        played.answerAll(.problem(403, "not-yours"))
        played.add(.installation(aliases: [:], metadata: nil), at: 2, by: .user("u-7"))
        played.answerAll(.accepted)
        #expect(played.sent().map(\.subject) == [.startToken(attributesType: "Delivery")])
    }
}
