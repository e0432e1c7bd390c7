import PushTokenRegistryTestSupport
import Testing

@testable import PushTokenRegistry

/// C9, C18: where the order matters although the registry goes by times.
@Suite struct OutboxOrderTests {
    @Test(arguments: [1.0, 9])
    func `An end takes the place of every registration of its activity, whenever it was observed`(time: Double) {
        let played = PlayedOutbox()
        played.add(.token("aa"), at: time)
        played.add(.token("bb", of: "a-2"), at: 1)
        played.add(.end(), at: 5)
        #expect(Set(played.keys) == [.end(ofActivity: "a-1"), .activity("a-2")])
    }

    @Test("A registration is not taken in while the end of its activity waits") func noRegistrationAfterAnEnd() {
        let played = PlayedOutbox()
        played.add(.end(), at: 5)
        played.add(.token("aa"), at: 9)
        #expect(played.sent().map(\.report) == [.end()])
    }

    @Test("The first end says how the activity ended, and when") func theFirstEndHolds() throws {
        let played = PlayedOutbox()
        played.add(.end(isDismissal: false), at: 1)
        played.add(.end(isDismissal: true), at: 2)
        let entry = try #require(played.send())
        #expect(entry.report == .end(isDismissal: false))
        #expect(entry.observedAt == .at(1))
    }

    @Test("A log-out drops what its user observed by then, but ends") func aLogOutDropsReports() {
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

    @Test(
        "Activities that the registry has not heard of end at the log-out too, so that the next user gets none of them"
    )
    func aLogOutEndsUnheardActivities() {
        let played = PlayedOutbox()
        let (user, next) = (Owner.user("u-7"), Owner.user("u-8"))
        played.add(.token("aa", of: "a-1"), at: 1, by: user)
        played.add(.token("bb", of: "a-2"), at: 2, by: user)
        played.add(.logOut, at: 4, by: user)
        played.add(.token("bb", of: "a-1"), at: 5, by: next)
        #expect(Set(played.keys) == [.end(ofActivity: "a-1"), .end(ofActivity: "a-2"), .logOut])
        #expect(played.outbox.entries.allSatisfy { $0.owner == user })
    }

    @Test("Of two log-outs the later counts") func theLaterLogOutCounts() {
        let played = PlayedOutbox()
        played.add(.logOut, at: 1)
        played.add(.logOut, at: 5)
        #expect(played.outbox.entries.map(\.observedAt) == [.at(5)])
    }

    @Test func `A log-out goes before what was observed after it, and an end waits for nothing`() throws {
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

    @Test func `A log-out that is refused, has no credential or is never answered holds nothing up`() throws {
        for failure in 0..<3 {
            let played = PlayedOutbox()
            played.add(.logOut, at: 1, by: .user("u-7"))
            played.add(.start("aa"), at: 3, by: .user("u-8"))
            let logOut = try #require(played.send())
            switch failure {
            case 0: played.answer(logOut, .problem(403, "not-yours"))
            case 1: played.outbox.credentialIsMissing(for: logOut.id, of: logOut.owner)
            default:
                played.answer(logOut, .retryLater(after: nil))
                for _ in 0..<2 {
                    played.now += 600
                    let again = try #require(played.send())
                    #expect(again.subject == .logOut)
                    played.answer(again, .retryLater(after: nil))
                }
            }
            #expect(played.sent().map(\.subject) == [.startToken(attributesType: "Delivery")], "\(failure)")
        }
    }

    @Test func `An answer to an entry that was replaced meanwhile leaves the later one to be sent`() throws {
        let played = PlayedOutbox()
        played.add(.token("aa"), at: 1)
        let first = try #require(played.send())
        played.add(.token("bb"), at: 2)
        played.answer(first, .accepted)
        #expect(played.send()?.report.token == "bb")
    }

    @Test("At most four are under way at once") func fourAtOnce() throws {
        let played = PlayedOutbox()
        for index in 0..<6 { played.add(.token("aa", of: "a-\(index)"), at: Double(index)) }
        let first = played.sent()
        #expect(first.count == Outbox.mostUnderWay)
        played.answer(try #require(first.first), .accepted)
        #expect(played.sent().count == 1)
    }
}
