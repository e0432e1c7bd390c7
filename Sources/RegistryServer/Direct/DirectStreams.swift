import NIOCore
import NIOHTTP2

/// The streams of an HTTP/2 connection that are answered on the connection itself: a value without socket and pipeline.
///
/// Streams do not wait for one another, so nothing is held. A stream is known here from its header until it is closed.
struct DirectStreams<Call> {
    struct Request {
        let call: Call
        var body = ByteBuffer()
        /// Room for the body, kept until the body is decoded; nil without one.
        let room: BodyReservation?
    }

    enum Receipt {
        case elsewhere
        case incomplete
        /// The request is whole, and removed from the state.
        case whole(Request)
        /// Input after the end of the request.
        case superfluous
    }

    private enum Phase {
        case reading(Request)
        case answering
        /// The answer was written, and the reader has not taken it.
        case draining
    }

    private var open: [HTTP2StreamID: Phase] = [:]
    /// Streams begun since the end of the last read, with incomplete bodies.
    private var begun: [HTTP2StreamID] = []
    /// Streams whose answers were written since the last flush.
    private var written: [HTTP2StreamID] = []

    /// - Returns: the request, if it is whole.
    mutating func begin(_ id: HTTP2StreamID, _ call: Call, room: BodyReservation?, isWhole: Bool) -> Request? {
        let request = Request(call: call, room: room)
        guard !isWhole else {
            open[id] = .answering
            return request
        }
        open[id] = .reading(request)
        begun.append(id)
        return nil
    }

    mutating func receive(_ id: HTTP2StreamID, _ bytes: ByteBuffer?, isLast: Bool) -> Receipt {
        switch open[id] {
        case nil: return .elsewhere
        case .answering, .draining: return .superfluous
        case .reading(var request):
            // Replaces the dictionary's value, so that the body is not copied with each part.
            open[id] = .answering
            if var bytes { request.body.writeBuffer(&bytes) }
            if isLast { return .whole(request) }
            open[id] = .reading(request)
            return .incomplete
        }
    }

    /// The streams whose bodies have a deadline from now on: most arrived in the last read.
    mutating func readCompleted() -> [HTTP2StreamID] {
        guard !begun.isEmpty else { return [] }
        defer { begun.removeAll(keepingCapacity: true) }
        return begun.filter(isReading)
    }

    func isReading(_ id: HTTP2StreamID) -> Bool {
        if case .reading = open[id] { true } else { false }
    }

    func isOpen(_ id: HTTP2StreamID) -> Bool { open[id] != nil }

    /// - Returns: false if the caller has left.
    mutating func answered(_ id: HTTP2StreamID) -> Bool {
        guard open[id] != nil else { return false }
        open[id] = .draining
        written.append(id)
        return true
    }

    /// The streams whose answers exceeded the windows at the last flush; most are closed by it.
    mutating func flushed() -> [HTTP2StreamID] {
        guard !written.isEmpty else { return [] }
        defer { written.removeAll(keepingCapacity: true) }
        return written.filter(isOpen)
    }

    /// - Returns: whether it was answered here.
    mutating func closed(_ id: HTTP2StreamID) -> Bool { open.removeValue(forKey: id) != nil }

    mutating func removeAll() -> Int {
        defer { (open, begun, written) = ([:], [], []) }
        return open.count
    }
}
