import RegistryClientTestSupport
import Testing

@testable import RegistryClient

/// C13: pauses of each entry, and of the whole while nobody answers.
@Suite struct OutboxPauseTests {
    @Test("Pauses double up to five minutes, and half of each is random") func pausesDouble() {
        for (jitter, factor) in [(0.0, 0.5), (1.0, 1.0)] {
            let played = PlayedOutbox()
            played.jitter = jitter
            played.add(.token("aa"), at: 0)
            var pauses: [Double] = []
            for _ in 0..<11 {
                played.answerAll(.repeatLater(after: nil))
                pauses.append(played.pause ?? -1)
                played.now += played.pause ?? 0
            }
            #expect(pauses == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300].map { $0 * factor })
        }
    }

    @Test("Each entry has a pause of its own") func entriesPauseApart() throws {
        let played = PlayedOutbox()
        played.add(.token("aa", of: "a-1"), at: 0)
        played.add(.token("bb", of: "a-2"), at: 1)
        let first = try #require(played.send())
        played.answer(first, .repeatLater(after: .seconds(120)))
        #expect(played.sent().map(\.name) == [.activity("a-2")])
    }

    @Test("Retry-After is obeyed, at the foreground too") func retryAfterIsObeyed() {
        let played = PlayedOutbox()
        played.add(.token("aa"), at: 0)
        played.answerAll(.repeatLater(after: .seconds(40)))
        #expect(played.pause == 40)
        played.outbox.comesToForeground()
        #expect(played.pause == 40)
    }

    @Test
    func `Retry-After is obeyed though the installation has become the user's, or their credential another`() throws {
        let user = Owner.user("u-7")
        let played = PlayedOutbox()
        played.add(.start("aa"), at: 1, by: user)
        for verdict in [
            .problem(403, "not-yours"), .problem(401, "unauthenticated"), .repeatLater(after: .seconds(4000)),
        ]
            as [Verdict]
        {
            played.answerAll(verdict)
            played.now += verdict == .repeatLater(after: .seconds(4000)) ? 0 : played.pause ?? 0
        }
        played.outbox.credentialWasRenewed(for: user)
        #expect(played.sent() == [])
        played.add(.installation(aliases: [:]), at: 2, by: user)
        played.answerAll(.accepted([]))
        #expect(played.sent() == [] && played.pause == 4000)
    }

    @Test(arguments: [Verdict.repeatLater(after: nil), .unanswered, .problem(403, "forbidden")])
    func `At the foreground all other pauses end`(verdict: Verdict) {
        let played = PlayedOutbox()
        played.add(.token("aa"), at: 0)
        played.answerAll(verdict)
        #expect(played.pause != nil)
        played.outbox.comesToForeground()
        #expect(played.sent().count == 1)
    }

    @Test("While nobody answers one at a time is tried, each in turn") func oneAtATimeInTurn() throws {
        let played = PlayedOutbox()
        for index in 0..<4 { played.add(.token("aa", of: "a-\(index)"), at: Double(index)) }
        played.answer(try #require(played.send()), .unanswered)
        var keys: Set<ReportName> = []
        for _ in 0..<3 {
            played.now += try #require(played.pause)
            let sent = played.sent()
            #expect(sent.count == 1)
            keys.formUnion(sent.map(\.name))
            for entry in sent { played.answer(entry, .unanswered) }
        }
        #expect(keys == [.activity("a-1"), .activity("a-2"), .activity("a-3")])
        #expect(played.effects == [.tell(.unreachable(since: Timestamp.at(0).date))], "it is told once")
    }

    @Test("The first answer ends the pauses of all that nobody answered") func anAnswerEndsSilence() throws {
        let played = PlayedOutbox()
        for index in 0..<3 { played.add(.token("aa", of: "a-\(index)"), at: Double(index)) }
        for entry in played.sent() { played.answer(entry, .unanswered) }
        played.now += 4
        played.answer(try #require(played.send()), .accepted([]))
        #expect(played.sent().count == 2)
    }

    @Test("A report that nobody ever answers delays a new one by nothing") func aPoisonedReportDelaysNoOther() throws {
        let played = PlayedOutbox()
        played.add(.token("aa", of: "poison"), at: 0)
        for _ in 0..<8 {
            played.now += played.pause ?? 0
            played.answerAll(.unanswered)
        }
        #expect(try #require(played.pause) > 60)
        played.add(.token("bb", of: "a-2"), at: 1)
        #expect(played.send()?.name == .activity("a-2"))
    }
}
