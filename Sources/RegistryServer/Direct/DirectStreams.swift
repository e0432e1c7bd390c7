import NIOCore
import NIOHTTP2

/// The streams of a connection of HTTP/2 that are answered on the connection itself: a value without socket and pipeline.
///
/// Streams do not wait for one another, so nothing is held. A stream is known here from its header until it is closed.
struct DirectStreams<Call> {
    struct Request {
        let call: Call
        var body = ByteBuffer()
        /// The room for the body, to be kept until the body was decoded; nil where there is none.
        let room: BodyReservation?
    }

    enum Receipt {
        /// The stream is not answered here.
        case elsewhere
        /// The body is not whole.
        case incomplete
        /// The request is whole; nothing of it is kept here.
        case whole(Request)
        /// Something comes behind the end of the request.
        case superfluous
    }

    private enum Phase {
        case reading(Request)
        case answering
        /// The answer was written, and the reader has not taken it.
        case draining
    }

    private var open: [HTTP2StreamID: Phase] = [:]
    /// Those that began since the last read was over, and whose bodies were not whole then.
    private var begun: [HTTP2StreamID] = []
    /// Those whose answers were written since the last flush.
    private var written: [HTTP2StreamID] = []

    /// A call was taken whose body, if it has one, follows.
    ///
    /// - Returns: the request, where it is whole.
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

    /// A part of a stream comes.
    mutating func receive(_ id: HTTP2StreamID, _ bytes: ByteBuffer?, isLast: Bool) -> Receipt {
        switch open[id] {
        case nil: return .elsewhere
        case .answering, .draining: return .superfluous
        case .reading(var request):
            // In place of the dictionary's, so that the body is not copied with each part.
            open[id] = .answering
            if var bytes { request.body.writeBuffer(&bytes) }
            if isLast { return .whole(request) }
            open[id] = .reading(request)
            return .incomplete
        }
    }

    /// The streams whose bodies must come whole in time from now on: most have come in the read that is over.
    mutating func readCompleted() -> [HTTP2StreamID] {
        guard !begun.isEmpty else { return [] }
        defer { begun.removeAll(keepingCapacity: true) }
        return begun.filter(isReading)
    }

    /// Whether the body of a stream is not whole.
    func isReading(_ id: HTTP2StreamID) -> Bool {
        if case .reading = open[id] { true } else { false }
    }

    /// Whether a stream is answered here, and not closed.
    func isOpen(_ id: HTTP2StreamID) -> Bool { open[id] != nil }

    /// The answer of a stream was made.
    ///
    /// - Returns: whether it is to be written: the caller may have left.
    mutating func answered(_ id: HTTP2StreamID) -> Bool {
        guard open[id] != nil else { return false }
        open[id] = .draining
        written.append(id)
        return true
    }

    /// The streams whose answers did not fit the windows at the flush that was just made: most are closed by it.
    mutating func flushed() -> [HTTP2StreamID] {
        guard !written.isEmpty else { return [] }
        defer { written.removeAll(keepingCapacity: true) }
        return written.filter(isOpen)
    }

    /// A stream was closed.
    ///
    /// - Returns: whether it was answered here.
    mutating func closed(_ id: HTTP2StreamID) -> Bool { open.removeValue(forKey: id) != nil }

    /// The connection was closed.
    ///
    /// - Returns: how many streams were open.
    mutating func removeAll() -> Int {
        defer { (open, begun, written) = ([:], [], []) }
        return open.count
    }
}
