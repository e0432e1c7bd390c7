import PushTokenRegistryTestSupport
import Testing

@testable import PushTokenRegistry

/// C9, C18: cases in which the order of requests matters.
@Suite struct OutboxOrderTests {
    @Test(arguments: [1.0, 9])
    func `An end replaces every registration of its activity, earlier or later`(time: Double) {
        let played = PlayedOutbox()
        played.add(.token("aa"), at: time)
        played.add(.token("bb", of: "a-2"), at: 1)
        played.add(.end(), at: 5)
        #expect(Set(played.keys) == [.end(ofActivity: "a-1"), .activity("a-2")])
    }

    @Test func `A registration is dropped while the end of its activity waits`() {
        let played = PlayedOutbox()
        played.add(.end(), at: 5)
        played.add(.token("aa"), at: 9)
        #expect(played.sent().map(\.report) == [.end()])
    }

    @Test func `The first end keeps its reason and time`() throws {
        let played = PlayedOutbox()
        played.add(.end(isDismissal: false), at: 1)
        played.add(.end(isDismissal: true), at: 2)
        let entry = try #require(played.send())
        #expect(entry.report == .end(isDismissal: false))
        #expect(entry.observedAt == .at(1))
    }

    @Test func `A log-out drops its user's earlier reports except ends`() {
        let played = PlayedOutbox()
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
        let played = PlayedOutbox()
        played.add(.logOut, at: 1)
        played.add(.logOut, at: 5)
        #expect(played.outbox.entries.map(\.observedAt) == [.at(5)])
    }

    @Test func `A log-out precedes later reports, and an end waits for no other report`() throws {
        let played = PlayedOutbox()
        played.add(.logOut, at: 1, by: .user("u-7"))
        played.add(.installation(aliases: [:], metadata: nil), at: 2, by: .user("u-8"))
        played.add(.start("aa"), at: 3, by: .user("u-8"))
        played.add(.end("a-9"), at: 4, by: .user("u-8"))
        let first = played.sent()
        #expect(first.map(\.subject) == [.logOut, .end(ofActivity: "a-9")])
        played.answer(try #require(first.first), .accepted)
        #expect(played.sent().map(\.subject) == [.installation], "the user takes the installation over first")
    }

    @Test func `A log-out that is refused or unanswered blocks no other report`() throws {
        for isRefused in [true, false] {
            let played = PlayedOutbox()
            played.add(.logOut, at: 1, by: .user("u-7"))
            played.add(.start("aa"), at: 3, by: .user("u-8"))
            let logOut = try #require(played.send())
            if isRefused {
                played.answer(logOut, .problem(403, "forbidden"))
            } else {
                played.answer(logOut, .retryLater(after: nil))
                for _ in 0..<2 {
                    played.now += 600
                    let again = try #require(played.send())
                    #expect(again.subject == .logOut)
                    played.answer(again, .retryLater(after: nil))
                }
            }
            #expect(played.sent().map(\.subject) == [.startToken(attributesType: "Delivery")], "\(isRefused)")
        }
    }

    @Test func `A response to a replaced entry does not remove its replacement`() throws {
        let played = PlayedOutbox()
        played.add(.token("aa"), at: 1)
        let first = try #require(played.send())
        played.add(.token("bb"), at: 2)
        played.answer(first, .accepted)
        #expect(played.send()?.report.token == "bb")
    }

    @Test func `At most four requests are under way at once`() throws {
        let played = PlayedOutbox()
        for index in 0..<6 { played.add(.token("aa", of: "a-\(index)"), at: Double(index)) }
        let first = played.sent()
        #expect(first.count == Outbox.mostUnderWay)
        played.answer(try #require(first.first), .accepted)
        #expect(played.sent().count == 1)
    }
}
