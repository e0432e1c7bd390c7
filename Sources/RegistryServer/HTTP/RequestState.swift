import HTTPTypes
import NIOCore
import NIOHTTPTypes
import RegistryCore

/// The progress of the requests of one connection, or of one stream of HTTP/2: a value without socket, task and timer.
///
/// Responses keep the order of requests: a request begins when the one before it is whole and answered. Until then later input is
/// held, and nothing more is read.
struct RequestState {
    enum Event {
        case part(HTTPRequestPart)
        /// Input that is not HTTP, or a request that breaks a rule of its framing.
        case fault(Problem)
        /// The caller sends nothing more.
        case inputClosed
    }

    enum Action {
        case nothing
        /// Take the request with `takeRequest()`, and start its call.
        case start
        /// Add bytes to the body that the call reads.
        case addToBody(ByteBuffer)
        case finishBody
        /// Send a problem as the last response; the call's own response, if any, is dropped.
        case refuse(Problem)
        /// The last response was written.
        case endConnection
        case close
    }

    private enum Input {
        /// No request has begun.
        case awaited
        /// The rest of the body is for the call.
        case arriving
        /// The request was answered before its end; so many bytes were dropped since.
        case dropped(Int)
        case whole
        /// Nothing after the last request counts. It is read, until the caller has taken the response.
        case over
    }

    private enum Output {
        case none
        /// The call is not answered yet.
        case awaited
        /// The head of a stream was written.
        case streaming
        /// The response is written, and exceeds the socket's buffers.
        case draining
    }

    private let mostUnread: Int
    private let isStream: Bool
    private var input = Input.awaited
    private var output = Output.none
    /// The request that was not started yet: most are whole at the end of a read.
    private var pending: (head: HTTPRequest, body: ByteBuffer)?
    private var held: [Event] = []
    private var isBodyFull = false
    /// The connection ends after this request's response.
    var isLast = false
    private(set) var isHead = false
    /// The number of the request that is being answered.
    private(set) var number = 0
    /// The server stops: the next response is the last.
    var isStopping = false

    /// - Parameters:
    ///   - mostUnread: how much of a body is still taken, and dropped, once its request was answered, in bytes.
    ///   - isStream: whether it is a stream, which ends with its request anyway.
    init(mostUnread: Int, isStream: Bool) {
        self.mostUnread = mostUnread
        self.isStream = isStream
    }

    /// Whether the next response ends the connection.
    var closes: Bool { (isLast || isStopping) && !isStream }

    /// Whether the body of the current request is still to come.
    var isReadingBody: Bool {
        switch input {
        case .arriving, .dropped: true
        case .awaited, .whole, .over: false
        }
    }

    /// Whether a request is being read or answered.
    var isBusy: Bool { isReadingBody || !isAnswered || !held.isEmpty }

    private var isAnswered: Bool { if case .none = output { true } else { false } }
    /// A stream is being written.
    var isStreaming: Bool { if case .streaming = output { true } else { false } }
    /// The request was answered before its end.
    var isAnsweredEarly: Bool { if case .dropped = input { true } else { false } }
    private var isDraining: Bool { if case .draining = output { true } else { false } }
    private var isAwaited: Bool { if case .awaited = output { true } else { false } }

    var mayRead: Bool {
        switch (input, output) {
        case (_, .draining): false
        case (.over, _): true
        // A client that waits for its response sends nothing meanwhile, and changing the kernel's registration of events twice
        // takes time.
        case (.whole, _): !isLast && held.isEmpty
        default: held.isEmpty && !isBodyFull
        }
    }

    /// Whether a response or a part of one is still wanted.
    func expects(_ number: Int) -> Bool {
        guard number == self.number else { return false }
        switch output {
        case .awaited, .streaming: return true
        case .none, .draining: return false
        }
    }

    mutating func takeRequest() -> (head: HTTPRequest, body: ByteBuffer)? { pending.take() }
}

extension RequestState {
    mutating func receive(_ event: Event) -> Action {
        guard held.isEmpty, !isHeld else {
            held.append(event)
            return .nothing
        }
        return handleEvent(event)
    }

    private var isHeld: Bool {
        switch input {
        case .whole: true
        case .awaited: !isAnswered
        case .arriving, .dropped, .over: false
        }
    }

    /// The action of the first held event whose turn has come; nil if there is none.
    mutating func releaseNext() -> Action? { held.isEmpty || isHeld ? nil : handleEvent(held.removeFirst()) }

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
        case (.fault, .dropped), (.inputClosed, .awaited), (.inputClosed, .arriving), (.inputClosed, .dropped),
            (.inputClosed, .over):
            return .close
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
        guard pending != nil else { return isAwaited || isStreaming ? .addToBody(bytes) : .nothing }
        var bytes = bytes
        if pending?.body.readableBytes == 0 { pending?.body = bytes } else { pending?.body.writeBuffer(&bytes) }
        return .nothing
    }

    /// A request whose body did not arrive in one read starts without its rest.
    mutating func readCompleted() -> Action {
        guard case .arriving = input, pending != nil else { return .nothing }
        return .start
    }

    /// - Parameter isFull: whether the call has not read most of what arrived.
    mutating func noteBody(isFull: Bool) { isBodyFull = isFull }

    /// Ends a request that cannot be read; nothing after it counts.
    mutating func refuse(_ problem: Problem) -> Action {
        guard !isStreaming, !isDraining else { return .close }
        number += 1
        (input, output, pending, isLast) = (isStream ? .dropped(0) : .over, .awaited, nil, true)
        return .refuse(problem)
    }
}

extension RequestState {
    mutating func beginStream() { output = .streaming }

    /// The whole response was written.
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

    mutating func becameWritable() { if isDraining { output = .none } }
}
