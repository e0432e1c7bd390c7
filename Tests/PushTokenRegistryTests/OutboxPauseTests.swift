import PushTokenRegistryTestSupport
import Testing

@testable import PushTokenRegistry

/// C13: pauses of single entries, and of all entries during silence.
@Suite struct OutboxPauseTests {
    @Test func `Pauses double up to five minutes, and half of each is random`() {
        for (jitter, factor) in [(0.0, 0.5), (1.0, 1.0)] {
            let played = PlayedOutbox()
            played.jitter = jitter
            played.add(.token("aa"), at: 0)
            var pauses: [Double] = []
            for _ in 0..<11 {
                played.answerAll(.retryLater(after: nil))
                pauses.append(played.pause ?? -1)
                played.now += played.pause ?? 0
            }
            #expect(pauses == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300].map { $0 * factor })
        }
    }

    @Test func `Retry-After is obeyed, even at the foreground`() {
        let played = PlayedOutbox()
        played.add(.token("aa"), at: 0)
        played.answerAll(.retryLater(after: .seconds(40)))
        #expect(played.pause == 40)
        played.outbox.retryNow()
        #expect(played.pause == 40)
    }

    @Test func `Retry-After is obeyed, even after a sign-in`() throws {
        let user = Owner.user("u-7")
        let played = PlayedOutbox()
        played.add(.start("aa"), at: 1, by: user)
        for responseClass in [
            .problem(403, "not-yours"), .problem(401, "unauthenticated"), .retryLater(after: .seconds(4000)),
        ]
            as [ResponseClass]
        {
            played.answerAll(responseClass)
            played.now += responseClass == .retryLater(after: .seconds(4000)) ? 0 : played.pause ?? 0
        }
        #expect(played.sent() == [])
        played.add(.installation(aliases: [:], metadata: nil), at: 2, by: user)
        played.answerAll(.accepted)
        #expect(played.sent() == [] && played.pause == 4000)
    }

    @Test(arguments: [ResponseClass.retryLater(after: nil), .none, .problem(403, "forbidden")])
    func `The foreground ends all other pauses`(responseClass: ResponseClass) {
        let played = PlayedOutbox()
        played.add(.token("aa"), at: 0)
        played.answerAll(responseClass)
        #expect(played.pause != nil)
        played.outbox.retryNow()
        #expect(played.sent().count == 1)
    }

    @Test func `During silence one entry at a time is tried, each in turn`() throws {
        let played = PlayedOutbox()
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
        let played = PlayedOutbox()
        for index in 0..<3 { played.add(.token("aa", of: "a-\(index)"), at: Double(index)) }
        for entry in played.sent() { played.answer(entry, .none) }
        played.now += 4
        played.answer(try #require(played.send()), .accepted)
        #expect(played.sent().count == 2)
    }

    @Test func `A report that is never answered does not delay a new report`() throws {
        let played = PlayedOutbox()
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
