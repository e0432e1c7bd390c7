import CLibpq
import Foundation
import Logging

/// One libpq connection in non-blocking mode. It belongs to one thread at a time; every wait for the server has a
/// deadline, except libpq's lookup of a host's address.
final class LibpqConnection {
    private var pointer: OpaquePointer?
    private let notices: NoticeSink
    var statements = PreparedStatements()
    /// Whether earlier work of the current caller is, or may be, committed.
    var mayHaveCommitted = false
    /// Whether the current caller is inside the body of an explicit transaction.
    var isInBody = false
    /// Whether the server forwards statements to others, so that several are one transaction only between BEGIN and
    /// COMMIT.
    var isDistributed = false
    private(set) var isUnusable = false
    /// Nil for a connection without a pool.
    var generation: PoolGeneration?
    /// The number of answers of the generation at this connection's last question, and its time.
    private var answersBefore = 0
    private var lastQuestion = ContinuousClock.now
    private var workBegan = ContinuousClock.now
    /// The shortest silence that counts against the server: a late caller's silence proves nothing.
    var leastSilence = Duration.zero
    /// Nil if libpq chooses the host itself.
    var server: ConnectionOptions.Host?
    /// The previous host, which did not answer.
    var skipped: ConnectionOptions.Host?

    init(started pointer: OpaquePointer, logger: Logger) {
        self.pointer = pointer
        notices = NoticeSink(logger: logger)
        // Messages of failed connects then contain the SQLSTATE, which libpq offers in no other way.
        PQsetErrorVerbosity(pointer, PQERRORS_VERBOSE)
        PQsetNoticeReceiver(pointer, NoticeSink.receive, Unmanaged.passUnretained(notices).toOpaque())
    }

    deinit {
        close()
    }

    /// Closes the socket. The server's work continues until it notices.
    func close() {
        guard let pointer else { return }
        PQfinish(pointer)
        self.pointer = nil
    }

    func beginWork() {
        mayHaveCommitted = false
        workBegan = .now
    }

    func noteQuestion() {
        answersBefore = generation?.answers ?? 0
        lastQuestion = .now
    }

    /// Whether the server has answered no connection since the last question, for most of the caller's time: among many
    /// quick questions, one is always the last before the time is over.
    var isServerSilent: Bool {
        let silence = lastQuestion.duration(to: .now)
        return generation?.answers == answersBefore && silence >= leastSilence
            && silence > workBegan.duration(to: lastQuestion)
    }

    func markUnusable() {
        isUnusable = true
    }

    func open() throws(PostgresError) -> OpaquePointer {
        guard let pointer else {
            // This call sent nothing, but an earlier one of the same caller may be the cause.
            throw PostgresError(.connectionLost, "the connection is closed", outcome: .nothingTookEffect)
        }
        return pointer
    }

    /// Alive, and in no transaction.
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
            // Parses it: an unsolicited error report reaches the notice receiver.
            _ = PQisBusy(pointer)
        }
        return isReusable
    }

    /// Whether the last commit was given up before the synchronous standby had it; reading resets it.
    func takeUnreplicatedCommit() -> Bool {
        notices.takeUnreplicatedCommit()
    }

    /// - Throws: ``PostgresError/Code/deadlineExceeded``; the connection is then closed.
    func wait(for events: Int32, until deadline: Deadline, outcome: PostgresError.Outcome) throws(PostgresError) {
        while true {
            if ready(for: events, milliseconds: deadline.remainingMilliseconds) > 0 { return }
            // With a valid descriptor poll fails only with EINTR: call it again.
            if deadline.isPassed {
                close()
                throw PostgresError(.deadlineExceeded, "the connection was closed", outcome: outcome)
            }
        }
    }

    /// Above 0 if the socket is ready, or closed by libpq: the caller continues and finds the cause.
    private func ready(for events: Int32, milliseconds: Int32) -> Int32 {
        var descriptor = pollfd(fd: PQsocket(pointer), events: Int16(events), revents: 0)
        return descriptor.fd < 0 ? 1 : poll(&descriptor, 1, milliseconds)
    }
}

private final class NoticeSink {
    private let logger: Logger
    /// The server announced the end; the end of the stream may still be on its way.
    private(set) var sawEndOfConnection = false
    private var sawUnreplicatedCommit = false

    init(logger: Logger) {
        self.logger = logger
    }

    static let receive: @convention(c) (UnsafeMutableRawPointer?, OpaquePointer?) -> Void = { sink, notice in
        guard let sink, let notice else { return }
        Unmanaged<NoticeSink>.fromOpaque(sink).takeUnretainedValue().note(
            PostgresError(report: notice, canCommit: false, at: .unknown),
            // The wait was cancelled: only this function warns, and the commit then counts as a success.
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
