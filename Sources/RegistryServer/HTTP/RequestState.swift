import HTTPTypes
import NIOCore
import NIOHTTPTypes
import RegistryCore

/// The progress of the requests of a connection or an HTTP/2 stream, as a value without sockets, tasks and timers.
///
/// Responses keep the order of requests. A request starts after the previous one was read and answered. Until then,
/// later input is held and reading pauses.
struct RequestState {
    enum Event {
        case part(HTTPRequestPart)
        /// Invalid HTTP, or a request with invalid framing.
        indirect case fault(Problem)
        /// The caller closed its output.
        case inputClosed
    }

    enum Action {
        case nothing
        /// Call `takeRequest()` and start its call.
        case start
        case addToBody(ByteBuffer)
        case finishBody
        /// Send the problem as the last response, in place of the call's response.
        case refuse(Problem)
        case endConnection
        case close
    }

    private enum Input {
        case awaited
        case arriving
        /// The response preceded the end of the request. Counts the bytes dropped since.
        case dropped(Int)
        case whole
        /// The last request is complete. Further input is read and ignored until the caller has the response.
        case over
    }

    private enum Output {
        case none
        case awaited
        case streaming
        /// The response was written and exceeds the socket's buffers.
        case draining
    }

    private let mostUnread: Int
    private let isStream: Bool
    private var input = Input.awaited
    private var output = Output.none
    /// A request that has not started, because most are complete at the end of a read.
    private var pending: (head: HTTPRequest, body: ByteBuffer)?
    private var held: ArraySlice<Event> = []
    private static let mostHeld = 2048
    private var isBodyFull = false
    var isLast = false
    private(set) var isHead = false
    private(set) var number = 0
    /// The service stops. The next response is the last.
    var isStopping = false

    /// - Parameters:
    ///   - mostUnread: Bytes of a body that are read and dropped after an early response.
    ///   - isStream: Whether this is an HTTP/2 stream, which ends with its request.
    init(mostUnread: Int, isStream: Bool) { (self.mostUnread, self.isStream) = (mostUnread, isStream) }

    var closes: Bool { (isLast || isStopping) && !isStream }

    var isReadingBody: Bool {
        switch input {
        case .arriving, .dropped: true
        case .awaited, .whole, .over: false
        }
    }

    var isBusy: Bool { isReadingBody || !isAnswered || !held.isEmpty }
    private var isAnswered: Bool { output == .none }
    var isStreaming: Bool { output == .streaming }
    var isAnsweredEarly: Bool { if case .dropped = input { true } else { false } }

    var mayRead: Bool {
        switch (input, output) {
        case (_, .draining): false
        case (.over, _): true
        // A client that waits for its response sends nothing, and changing the kernel's event registration takes time.
        case (.whole, _): !isLast && held.isEmpty
        default: held.isEmpty && !isBodyFull
        }
    }

    func expects(_ number: Int) -> Bool { number == self.number && (output == .awaited || isStreaming) }
    mutating func takeRequest() -> (head: HTTPRequest, body: ByteBuffer)? { pending.take() }

    mutating func receive(_ event: Event) -> Action {
        guard held.isEmpty, !isHeld else { return hold(event) }
        return handleEvent(event)
    }

    /// Joins parts of a body, because a caller may send each byte as a part.
    private mutating func hold(_ event: Event) -> Action {
        if case .part(.body(var bytes)) = event, case .part(.body(var former))? = held.last {
            held.removeLast()
            former.writeBuffer(&bytes)
            held.append(.part(.body(former)))
        } else {
            held.append(event)
        }
        return held.count > Self.mostHeld ? .close : .nothing
    }

    private var isHeld: Bool {
        switch input {
        case .whole: true
        case .awaited: !isAnswered
        case .arriving, .dropped, .over: false
        }
    }

    mutating func releaseNext() -> Action? {
        guard !isHeld, let event = held.popFirst() else { return nil }
        if held.isEmpty { held = [] }
        return handleEvent(event)
    }

    private mutating func handleEvent(_ event: Event) -> Action {
        switch (event, input) {
        case (.part(.head(let head)), .awaited): beginRequest(head)
        case (.part(.body(let bytes)), .arriving): return add(bytes)
        case (.part(.body(let bytes)), .dropped(let count)):
            input = .dropped(count + bytes.readableBytes)
            if count + bytes.readableBytes > mostUnread { return .close }
        case (.part(.end), .arriving):
            input = .whole
            return pending == nil ? .finishBody : .start
        case (.part(.end), .dropped): return endInput()
        case (.fault(let problem), .awaited), (.fault(let problem), .arriving): return refuse(problem)
        case (.inputClosed, .awaited): return .endConnection
        case (.fault, .dropped), (.inputClosed, .arriving), (.inputClosed, .dropped): return .close
        case (.part, _), (.fault, _), (.inputClosed, _): break
        }
        return .nothing
    }

    private mutating func beginRequest(_ head: HTTPRequest) {
        number += 1
        input = .arriving
        output = .awaited
        isHead = head.method == .head
        isLast = head.headerFields[.connection] == "close"
        pending = (head, ByteBuffer())
    }

    private mutating func add(_ bytes: ByteBuffer) -> Action {
        guard pending != nil else { return output == .awaited || isStreaming ? .addToBody(bytes) : .nothing }
        var bytes = bytes
        if pending?.body.readableBytes == 0 { pending?.body = bytes } else { pending?.body.writeBuffer(&bytes) }
        return .nothing
    }

    mutating func readCompleted() -> Action {
        guard case .arriving = input, pending != nil else { return .nothing }
        return .start
    }

    mutating func noteBody(isFull: Bool) { isBodyFull = isFull }

    /// Rejects a malformed request. Later input is ignored.
    mutating func refuse(_ problem: Problem) -> Action {
        guard !isStreaming, output != .draining else { return .close }
        number += 1
        (input, output, pending, isLast) = (isStream ? .dropped(0) : .over, .awaited, nil, true)
        return .refuse(problem)
    }

    mutating func beginStream() { output = .streaming }

    mutating func responded(isWritable: Bool) -> Action {
        output = isWritable ? .none : .draining
        isBodyFull = false
        switch input {
        case .arriving:
            input = .dropped(0)
            return .nothing
        case .whole, .over: return endInput()
        case .awaited, .dropped: return .nothing
        }
    }

    private mutating func endInput() -> Action {
        input = closes ? .over : .awaited
        return closes ? .endConnection : .nothing
    }

    mutating func becameWritable() { if output == .draining { output = .none } }
}
