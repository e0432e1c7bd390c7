import NIOCore

/// The lines of an NDJSON body that is answered while it arrives.
///
/// The deadline applies to each line, because such a body can take any time. Allows one reader at a time: the call
/// until the head is sent, and one task after that.
final class BodyLines: @unchecked Sendable {
    private let body: RequestBody
    private let deadline: TimeAmount
    private let reservation: BodyReservation?
    private var splitter = LineSplitter()

    static let mostBytes = LineBuffer.capacity + LineSplitter.maximumLine

    init(_ body: RequestBody, deadline: Duration, holding reservation: BodyReservation? = nil) {
        self.body = body
        self.deadline = TimeAmount(deadline)
        self.reservation = reservation
    }

    /// Replaces the connection's deadline with this type's.
    func beginReading() { body.exchange?.endBodyDeadline() }

    /// Waits for a complete line, and returns it with others that arrived. Nil at the end.
    ///
    /// - Throws: `ConnectionLost`, also if no line came in time.
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
