import NIOCore

/// The lines of an NDJSON body that is read while it is being answered.
///
/// The duration of such a body is unknown, so the deadline applies to each line. It has one reader at a time: the call itself until
/// the response's head is sent, one task after that.
final class BodyLines: @unchecked Sendable {
    private let body: RequestBody
    private let deadline: TimeAmount
    private let reservation: BodyReservation?
    private var splitter = LineSplitter()

    /// The most bytes of lines read ahead: a buffer of them, and an incomplete line.
    static let mostBytes = LineBuffer.capacity + LineSplitter.maximumLine

    init(_ body: RequestBody, deadline: Duration, holding reservation: BodyReservation? = nil) {
        self.body = body
        self.deadline = TimeAmount(deadline)
        self.reservation = reservation
    }

    /// Tells the connection that the deadline is kept here from now on.
    func beginReading() { body.exchange?.endBodyDeadline() }

    /// Waits for the next whole line.
    ///
    /// - Returns: it, and those that came with it; nil at the end of the body.
    /// - Throws: `ConnectionLost`, also if no line came in time and the connection was closed for it.
    func next() async throws -> [BodyLine]? {
        let timer = body.exchange.map { exchange in
            exchange.eventLoop.scheduleTask(in: deadline) { exchange.close() }
        }
        defer { timer?.cancel() }
        while let part = try await body.next() {
            if Task.isCancelled { throw ConnectionLost() }
            let lines = splitter.add(part)
            if !lines.isEmpty { return lines }
        }
        return splitter.finish().map { [$0] }
    }
}
