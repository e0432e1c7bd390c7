import Foundation
import NIOCore
import Testing

@testable import RegistryServer

@Suite struct LoneCallerTests {
    private static let start = NIODeadline.uptimeNanoseconds(1_000_000_000)

    /// Requests of a connection, each so long after the answer to the one before.
    private static func ask(
        _ caller: inout LoneCaller.Connection,
        _ all: LoneCaller,
        times: Int = Int(LoneCaller.streak),
        after pause: TimeAmount = .microseconds(10)
    ) {
        for _ in 0..<times {
            caller.noteRequest(of: all, now: start + pause)
            caller.noteAnswer(of: all, now: start)
        }
    }

    @Test func whoAsksOnAndOnIsAloneAndInHaste() {
        let all = LoneCaller()
        var caller = all.connection()
        Self.ask(&caller, all)
        #expect(!caller.isAlone && !caller.isInHaste)
        Self.ask(&caller, all, times: 1)
        #expect(caller.isAlone && !caller.isInHaste, "how soon he asks is not known before that")
        Self.ask(&caller, all, times: 100)
        #expect(caller.isAlone && caller.isInHaste)
    }

    @Test func whoTakesHisTimeIsNotLookedOutFor() {
        let all = LoneCaller()
        var caller = all.connection()
        Self.ask(&caller, all, times: 100, after: LoneCaller.haste)
        #expect(caller.isAlone && !caller.isInHaste)
        Self.ask(&caller, all, times: 1)
        #expect(caller.isInHaste)
        Self.ask(&caller, all, times: 1, after: LoneCaller.haste)
        #expect(!caller.isInHaste)
    }

    @Test func anotherRequestEndsIt() {
        let all = LoneCaller()
        var (caller, other) = (all.connection(), all.connection())
        Self.ask(&caller, all, times: 100)
        Self.ask(&other, all, times: 1)
        #expect(!other.isAlone)
        Self.ask(&caller, all)
        #expect(!caller.isAlone && !caller.isInHaste)
        Self.ask(&caller, all, times: 2)
        #expect(caller.isAlone && caller.isInHaste)
        for _ in 0..<100 {
            Self.ask(&other, all, times: 1)
            Self.ask(&caller, all, times: 1)
            #expect(!caller.isAlone && !other.isAlone)
        }
    }

    /// Such as a batch that is resolved while another caller asks on and on.
    @Test func nobodyIsAloneWhileARequestOfAnotherIsOpen() {
        let all = LoneCaller()
        var (caller, other) = (all.connection(), all.connection())
        other.noteRequest(of: all)
        Self.ask(&caller, all, times: 100)
        #expect(!caller.isAlone && !caller.isInHaste)
        other.noteAnswer(of: all)
        Self.ask(&caller, all, times: 100)
        #expect(caller.isAlone && caller.isInHaste)
    }

    @Test func nobodyIsAloneWhileAnotherKindOfRequestIsOpen() {
        let all = LoneCaller()
        var caller = all.connection()
        Self.ask(&caller, all, times: 100)
        all.noteOpen(2)
        all.noteOpen(-1)
        Self.ask(&caller, all, times: 100)
        #expect(!caller.isAlone && !caller.isInHaste)
        all.noteOpen(-1)
        Self.ask(&caller, all, times: Int(LoneCaller.streak) - 1)
        #expect(!caller.isAlone)
        Self.ask(&caller, all, times: 2)
        #expect(caller.isInHaste)
    }

    @Test func whatComesIsSeenAndNothingIsNotWaitedForLong() {
        var pair: [Int32] = [-1, -1]
        #expect(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &pair) == 0)
        defer { for descriptor in pair { close(descriptor) } }
        // A busy machine may keep the thread from going on; not every time.
        func duration() -> TimeAmount {
            (0..<20).map { _ in
                let start = NIODeadline.now()
                LoneCaller.lookOut(pair[0])
                return NIODeadline.now() - start
            }.min()!
        }
        let empty = duration()
        #expect(empty >= LoneCaller.haste && empty < .milliseconds(20))
        #expect(write(pair[1], "x", 1) == 1)
        #expect(duration() < LoneCaller.haste)
    }
}
