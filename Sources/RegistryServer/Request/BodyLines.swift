import Hummingbird
import NIOCore

/// The lines of an NDJSON body that is read while it is being answered.
///
/// The duration of such a body is unknown, so the deadline applies to each line. Its iterator has one reader at a time:
/// the call itself until the answer's head is sent, one task after that.
final class BodyLines: @unchecked Sendable {
    private var parts: RequestBody.AsyncIterator
    private var splitter = LineSplitter()
    private let channel: any Channel
    private let deadline: TimeAmount
    private let reservation: BodyReservation?

    /// The most bytes of lines read ahead: a buffer of them, and an incomplete line.
    static let mostBytes = LineBuffer.capacity + LineSplitter.maximumLine

    init(
        _ body: RequestBody,
        from channel: any Channel,
        deadline: Duration,
        holding reservation: BodyReservation? = nil
    ) {
        self.reservation = reservation
        parts = body.makeAsyncIterator()
        self.channel = channel
        self.deadline = TimeAmount(deadline)
    }

    /// Tells the connection that the deadline is kept here from now on.
    func begin() { channel.pipeline.fireUserInboundEventTriggered(BodyIsAnsweredWhileItComes()) }

    /// Waits for the next whole line.
    ///
    /// - Returns: it, and those that came with it; nil at the end of the body.
    /// - Throws: `ConnectionLost`, also if no line came in time and the connection was closed for it.
    func next() async throws -> [BodyLine]? {
        let timer = channel.eventLoop.scheduleTask(in: deadline) { [channel] in channel.close(promise: nil) }
        defer { timer.cancel() }
        while let part = try await nextPart() {
            let lines = splitter.add(part)
            if !lines.isEmpty { return lines }
        }
        return splitter.finish().map { [$0] }
    }

    private func nextPart() async throws -> ByteBuffer? {
        do {
            let part = try await parts.next()
            // A closed connection, or a cancelled task, looks like the end of the body.
            guard channel.isActive, !Task.isCancelled else { throw CancellationError() }
            return part
        } catch {
            throw ConnectionLost(cause: error)
        }
    }
}

/// Tells the ``ConnectionGuard`` that the request's body has no deadline as a whole.
struct BodyIsAnsweredWhileItComes: Sendable {}
