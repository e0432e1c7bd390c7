import Foundation
import NIOCore
import Synchronization

/// Knows whether all requests come from one caller, on one connection, one after the other.
///
/// For such a caller the time of a request is that of waking threads, each of which takes about as long as to look up a
/// row. So the thread of his connection may wait for Postgres itself; and where he asks again soon after each answer, it
/// looks out for his next request before it sleeps. Whoever is not alone, or takes longer, is never waited for.
final class LoneCaller: Sendable {
    /// How soon after an answer the next request must come, and for how long it is looked out for: somewhat longer than a
    /// caller on the same machine takes who does nothing else.
    static let haste = TimeAmount.microseconds(150)

    /// So many requests on end must have come on one connection.
    static let streak: UInt64 = 32

    /// The name of the last request's connection, and in its lower bits how many on end were that one's.
    private let last = Atomic<UInt64>(0)
    private let names = Atomic<UInt64>(0)
    /// Requests that are open, those that are answered the usual way among them: each needs its thread, however long it takes.
    private let open = Atomic<Int>(0)
    private static let bits: UInt64 = 64

    /// What a connection knows of its caller.
    struct Connection {
        fileprivate let name: UInt64
        /// Whether the caller was alone at his last request.
        fileprivate(set) var isAlone = false
        /// Whether he was in haste, too.
        fileprivate(set) var isInHaste = false
        private var answeredAt: NIODeadline?

        fileprivate init(name: UInt64) { self.name = name }

        /// Notes that a request has come whole.
        mutating func noteRequest(of all: LoneCaller, now: @autoclosure () -> NIODeadline = .now()) {
            all.noteOpen(1)
            isAlone = all.note(name)
            isInHaste = isAlone && answeredAt.map { now() < $0 + LoneCaller.haste } == true
        }

        /// Notes that its answer was written, or that nobody is there to have it.
        mutating func noteAnswer(of all: LoneCaller, now: @autoclosure () -> NIODeadline = .now()) {
            all.noteOpen(-1)
            answeredAt = isAlone ? now() : nil
        }
    }

    /// A new connection.
    func connection() -> Connection { Connection(name: names.add(Self.bits, ordering: .relaxed).newValue) }

    /// Notes that requests have begun or, below 0, ended.
    func noteOpen(_ change: Int) { open.add(change, ordering: .relaxed) }

    private func note(_ name: UInt64) -> Bool {
        // Two at once may overwrite each other's note; then neither is alone.
        let known = last.load(ordering: .relaxed)
        guard known & ~(Self.bits - 1) == name, open.load(ordering: .relaxed) == 1 else {
            last.store(name + 1, ordering: .relaxed)
            return false
        }
        guard known & (Self.bits - 1) < Self.streak else { return true }
        last.store(known + 1, ordering: .relaxed)
        return false
    }

    /// Waits until a socket has something to be read, for as long as it is looked out for; whoever else has something to
    /// run on this processor, such as the caller, goes first each time.
    static func lookOut(_ socket: NIOBSDSocket.Handle) {
        var descriptor = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
        let end = NIODeadline.now() + haste
        while poll(&descriptor, 1, 0) == 0, NIODeadline.now() < end { sched_yield() }
    }
}
