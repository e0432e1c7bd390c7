import CLibpq
import Foundation
import Logging

/// One libpq connection in non-blocking mode, used by one thread at a time. Every wait for the server has a deadline,
/// except libpq's lookup of host addresses.
final class LibpqConnection {
    private var pointer: OpaquePointer?
    private let logger: Logger
    /// The names of the queries that the server has prepared.
    var prepared: Set<String> = []
    /// The server announced the end; the end of the stream may not have arrived yet.
    private var sawEndOfConnection = false
    /// The last commit stopped waiting for the synchronous standby.
    var sawUnreplicatedCommit = false
    /// Whether earlier work of the current caller is or may be committed.
    var mayHaveCommitted = false
    var stage = TransactionStage.outside
    /// The first error of the transaction, which can no longer commit.
    var failure: PostgresError?
    /// Whether the server forwards statements to other nodes. Several statements are then one transaction only between
    /// BEGIN and COMMIT.
    var isDistributed = false
    /// The connection is closed when it is returned.
    var isUnusable = false
    var generation: PoolGeneration?
    var answersBefore = 0
    var lastQuestion = ContinuousClock.now
    private var workBegan = ContinuousClock.now
    /// A shorter silence does not show that the server is frozen, for example if the caller is late.
    var leastSilence = Duration.zero
    /// Nil if libpq chooses the host itself.
    var server: ConnectionOptions.Host?

    init(started pointer: OpaquePointer, logger: Logger) {
        self.pointer = pointer
        self.logger = logger
        // Messages of failed connects then contain the SQLSTATE, which libpq does not expose otherwise.
        PQsetErrorVerbosity(pointer, PQERRORS_VERBOSE)
        PQsetNoticeReceiver(pointer, Self.receive, Unmanaged.passUnretained(self).toOpaque())
    }

    private static let receive: @convention(c) (UnsafeMutableRawPointer?, OpaquePointer?) -> Void = { link, notice in
        guard let link, let notice else { return }
        Unmanaged<LibpqConnection>.fromOpaque(link).takeUnretainedValue().note(notice)
    }

    private func note(_ report: OpaquePointer) {
        let notice = PostgresError(report: report, canCommit: false)
        // Only this server function warns if the wait for the standby is cancelled. The commit counts as a success.
        if PostgresError.field("R", of: report) == "SyncRepWaitForLSN" { sawUnreplicatedCommit = true }
        if notice.severity == "FATAL" || notice.severity == "PANIC" { sawEndOfConnection = true }
        logger.debug(
            "notice from Postgres",
            metadata: ["severity": "\(notice.severity ?? "")", "sqlstate": "\(notice.sqlState ?? "")"]
        )
    }

    deinit { close() }

    /// Closes the socket. The server works on until it notices.
    func close() {
        guard let pointer else { return }
        PQfinish(pointer)
        self.pointer = nil
    }

    func beginWork() {
        mayHaveCommitted = false
        workBegan = .now
    }

    /// Whether the server has not answered on any connection since the last statement was sent, for most of the
    /// caller's time. The second condition matters because a deadline always interrupts the last of many quick
    /// statements.
    var isServerSilent: Bool {
        let silence = lastQuestion.duration(to: .now)
        return generation?.answers == answersBefore && silence >= leastSilence
            && silence > workBegan.duration(to: lastQuestion)
    }

    func open() throws(PostgresError) -> OpaquePointer {
        guard let pointer else {
            // This call sent nothing. An earlier call of this caller may have closed the connection.
            throw PostgresError(.connectionLost, "the connection is closed", outcome: .nothingTookEffect)
        }
        return pointer
    }

    var isReusable: Bool {
        guard let pointer, !isUnusable else { return false }
        return PQstatus(pointer) == CONNECTION_OK && PQtransactionStatus(pointer) == PQTRANS_IDLE
            && PQpipelineStatus(pointer) == PQ_PIPELINE_ON && !sawEndOfConnection
    }

    /// Whether an idle connection is still alive. Reads pending input without waiting.
    func isAlive() -> Bool {
        guard let pointer else { return false }
        while isReusable, ready(for: POLLIN, milliseconds: 0) > 0 {
            guard PQconsumeInput(pointer) == 1 else { return false }
            // Parses input, which passes an unsolicited error to the notice receiver.
            _ = PQisBusy(pointer)
        }
        return isReusable
    }

    /// - Throws: ``PostgresError/Code/deadlineExceeded`` after closing the connection.
    func wait(for events: Int32, until deadline: Deadline, outcome: PostgresError.Outcome) throws(PostgresError) {
        while true {
            if ready(for: events, milliseconds: deadline.remainingMilliseconds) > 0 { return }
            // With a valid descriptor, poll fails only with EINTR.
            if deadline.isPassed {
                close()
                throw PostgresError(.deadlineExceeded, "the connection was closed", outcome: outcome)
            }
        }
    }

    /// Above 0 if the socket is ready or libpq closed it; the caller then finds the cause.
    private func ready(for events: Int32, milliseconds: Int32) -> Int32 {
        var descriptor = pollfd(fd: PQsocket(pointer), events: Int16(events), revents: 0)
        return descriptor.fd < 0 ? 1 : poll(&descriptor, 1, milliseconds)
    }
}
