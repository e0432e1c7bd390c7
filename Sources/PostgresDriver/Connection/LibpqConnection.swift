import CLibpq
import Foundation
import Logging

/// One libpq connection in non-blocking mode. It belongs to one thread at a time; every wait for the server has
/// a deadline, except that of libpq for a host's address.
final class LibpqConnection {
    private var pointer: OpaquePointer?
    private let notices: NoticeSink
    var statements = PreparedStatements()
    /// Whether something that the current caller did earlier is, or may be, committed.
    var mayHaveCommitted = false
    /// Whether the current caller is inside the body of an explicit transaction.
    var isInBody = false
    /// Whether the server passes statements on to others, so that several are one transaction only between BEGIN and COMMIT.
    var isDistributed = false
    /// Whether the connection must not serve another caller.
    private(set) var isUnusable = false
    /// The pool's connections of the same age; nil for one that is no pool's.
    var generation: PoolGeneration?
    /// How many questions were answered on those when this one asked its last, and when that was.
    private var answersBefore = 0
    private var lastQuestion = ContinuousClock.now
    /// When the current caller's work began.
    private var workBegan = ContinuousClock.now
    /// The shortest time without an answer that says something of the server: of a caller who came late it says nothing.
    var leastSilence = Duration.zero
    /// The host that it is to; nil where libpq was to find one by itself.
    var server: ConnectionOptions.Host?
    /// The host before it that did not answer.
    var skipped: ConnectionOptions.Host?

    /// Takes over a connection on which libpq has just started to connect.
    init(started pointer: OpaquePointer, logger: Logger) {
        self.pointer = pointer
        notices = NoticeSink(logger: logger)
        // Messages of failed connects then hold the SQLSTATE, which libpq offers in no other way.
        PQsetErrorVerbosity(pointer, PQERRORS_VERBOSE)
        PQsetNoticeReceiver(pointer, NoticeSink.receive, Unmanaged.passUnretained(notices).toOpaque())
    }

    deinit {
        close()
    }

    /// Closes the socket. What the server was doing goes on there until it notices.
    func close() {
        guard let pointer else { return }
        PQfinish(pointer)
        self.pointer = nil
    }

    /// Work begins that has a time of its own, and of which nothing is committed.
    func beginWork() {
        mayHaveCommitted = false
        workBegan = .now
    }

    /// A round trip begins.
    func noteQuestion() {
        answersBefore = generation?.answers ?? 0
        lastQuestion = .now
    }

    /// Whether the server has answered nobody since the last question, for most of the caller's time: of many questions, each
    /// answered at once, one is the last before the time is over.
    var isServerSilent: Bool {
        let silence = lastQuestion.duration(to: .now)
        return generation?.answers == answersBefore && silence >= leastSilence
            && silence > workBegan.duration(to: lastQuestion)
    }

    /// Marks the connection as not to be used by another caller.
    func markUnusable() {
        isUnusable = true
    }

    /// The connection, unless it was closed.
    func open() throws(PostgresError) -> OpaquePointer {
        guard let pointer else {
            // Nothing was sent by this call, but an earlier one of the same caller may be the reason.
            throw PostgresError(.connectionLost, "the connection is closed", outcome: .nothingTookEffect)
        }
        return pointer
    }

    /// Whether another caller may use the connection: alive, and in no transaction.
    var isReusable: Bool {
        guard let pointer, !isUnusable else { return false }
        return PQstatus(pointer) == CONNECTION_OK && PQtransactionStatus(pointer) == PQTRANS_IDLE
            && PQpipelineStatus(pointer) == PQ_PIPELINE_ON && !notices.sawEndOfConnection
    }

    /// Whether an idle connection still has a server: reads what arrived meanwhile, and never waits.
    func isAlive() -> Bool {
        guard let pointer else { return false }
        while isReusable, ready(for: POLLIN, milliseconds: 0) > 0 {
            guard PQconsumeInput(pointer) == 1 else { return false }
            // Parses it: an error report that nobody asked for reaches the notice receiver.
            _ = PQisBusy(pointer)
        }
        return isReusable
    }

    /// Whether the last commit was given up before the synchronous standby had it; asking forgets it.
    func takeUnreplicatedCommit() -> Bool {
        notices.takeUnreplicatedCommit()
    }

    /// Waits until the socket is ready for one of the events.
    ///
    /// - Throws: ``PostgresError/Code/deadlineExceeded``; the connection is closed then.
    func wait(for events: Int32, until deadline: Deadline, outcome: PostgresError.Outcome) throws(PostgresError) {
        while true {
            if ready(for: events, milliseconds: deadline.remainingMilliseconds) > 0 { return }
            // EINTR is the one failure that poll has with a valid descriptor: call it again.
            if deadline.isPassed {
                close()
                throw PostgresError(.deadlineExceeded, "the connection was closed", outcome: outcome)
            }
        }
    }

    /// Above 0 when the socket is ready; also when libpq has closed it, so that the caller goes on and sees why.
    private func ready(for events: Int32, milliseconds: Int32) -> Int32 {
        var descriptor = pollfd(fd: PQsocket(pointer), events: Int16(events), revents: 0)
        return descriptor.fd < 0 ? 1 : poll(&descriptor, 1, milliseconds)
    }
}

/// Receives what the server says without being asked.
private final class NoticeSink {
    private let logger: Logger
    /// Whether the server has said goodbye; the end of the stream may still be under way.
    private(set) var sawEndOfConnection = false
    private var sawUnreplicatedCommit = false

    init(logger: Logger) {
        self.logger = logger
    }

    static let receive: @convention(c) (UnsafeMutableRawPointer?, OpaquePointer?) -> Void = { sink, notice in
        guard let sink, let notice else { return }
        Unmanaged<NoticeSink>.fromOpaque(sink).takeUnretainedValue().note(
            PostgresError(report: notice, canCommit: false, at: .unknown),
            // Somebody cancelled the wait: only this function warns, and the commit then counts as a success.
            isUnreplicatedCommit: PostgresError.field("R", of: notice) == "SyncRepWaitForLSN"
        )
    }

    func takeUnreplicatedCommit() -> Bool {
        defer { sawUnreplicatedCommit = false }
        return sawUnreplicatedCommit
    }

    private func note(_ notice: PostgresError, isUnreplicatedCommit: Bool) {
        if isUnreplicatedCommit { sawUnreplicatedCommit = true }
        if notice.severity == "FATAL" || notice.severity == "PANIC" { sawEndOfConnection = true }
        logger.debug(
            "notice from Postgres",
            metadata: ["severity": "\(notice.severity ?? "")", "sqlstate": "\(notice.sqlState ?? "")"]
        )
    }
}
