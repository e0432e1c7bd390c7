import HTTPTypes
import NIOCore
import NIOHTTPTypes

/// The requests of a connection and the order of their answers: a value without socket and pipeline.
///
/// A connection's answers go out in the order of its requests: a call is taken only while no request before it is open
/// behind the handler, and while one is being answered here, whatever comes after it is held, further reads included.
///
/// Every method returns what its caller must do. A request is large, and copied with no action: `takeRequest()` gives it.
struct DirectCallState<Call, Answer, Event> {
    enum Action {
        case nothing
        /// Lets an event go on as it came.
        case pass(Event)
        /// Takes the request, and lets it go on after all, with what has come of its body.
        case handOn
        /// Takes the request, and makes its answer.
        case start
        case write(Answer)
        case read
        /// Does all that `next()` says.
        case release
        /// Receives a held event as if it came only now.
        case receive(Event)
        /// Receives the end of a read.
        case completeRead
    }

    struct Request {
        let call: Call
        var body = ByteBuffer()
        /// The room for a body that did not come whole at once, to be kept until the body was decoded.
        var room: BodyReservation?
    }

    private enum Phase {
        case idle
        case reading
        /// Until the answer was written.
        case answering
        /// The answer was written, and does not fit the socket's buffers.
        case draining
        case removed
    }

    private var phase = Phase.idle
    /// The request whose call was taken, until it is started.
    private var request: Request?
    /// Requests behind the handler that are not answered.
    private var downstreamRequests = 0
    private var held: [Event] = []
    private var holdsRead = false
    private var isReleasing = false
    /// Held events were let go, and the end of their read was not.
    private var owesCompletion = false

    private var isAnswering: Bool { phase == .answering || phase == .draining }

    /// The request that is handed on or started; nothing of it is kept here.
    mutating func takeRequest() -> Request? { request.take() }
}

// MARK: - What comes

extension DirectCallState {
    /// A part of a request comes.
    ///
    /// - Parameters:
    ///   - event: the part as it came.
    ///   - admit: the call that a request makes, if it can be answered here; asked only where the order allows it.
    mutating func read(_ part: HTTPRequestPart, _ event: Event, admit: (HTTPRequest) -> Call?) -> Action {
        switch (phase, part) {
        case (.idle, .head(let head)):
            guard downstreamRequests == 0, let call = admit(head) else {
                downstreamRequests += 1
                return .pass(event)
            }
            phase = .reading
            request = Request(call: call)
        case (.reading, .body(var bytes)): request?.body.writeBuffer(&bytes)
        case (.reading, .end):
            phase = .answering
            return .start
        default: return receive(event)
        }
        return .nothing
    }

    /// Anything else comes: an event, an error, or a part of a request that is not read here.
    mutating func receive(_ event: Event) -> Action {
        switch phase {
        case .idle, .reading: return .pass(event)
        case .answering, .draining: held.append(event)
        case .removed: break
        }
        return .nothing
    }

    /// Most bodies come whole in one read. Others may take their time, and as much room as they announce; where there is none
    /// the usual way says so.
    mutating func readCompleted(reserve: (Call) -> BodyReservation?) -> Action {
        guard phase == .reading, let call = request?.call, request?.room == nil else { return .nothing }
        request?.room = reserve(call)
        guard request?.room == nil else { return .nothing }
        phase = .idle
        downstreamRequests += 1
        return .handOn
    }

    /// A read is asked for.
    mutating func wantsRead() -> Action {
        switch phase {
        case .idle, .reading: return .read
        // A client that waits for its answer sends nothing meanwhile, and telling the kernel to look away and back
        // again is expensive.
        case .answering where held.isEmpty: return .read
        case .answering, .draining: holdsRead = true
        case .removed: break
        }
        return .nothing
    }

    /// A request behind the handler was answered.
    mutating func responseEnded() {
        // Input that is no HTTP is answered, too, and was no request.
        if downstreamRequests > 0 { downstreamRequests -= 1 }
    }

    /// A removed handler does nothing more, nor writes the answer that is being made.
    mutating func removed() {
        self = Self()
        phase = .removed
    }
}

// MARK: - What is answered

extension DirectCallState {
    /// The answer was made.
    func answered(_ answer: Answer) -> Action { phase == .answering ? .write(answer) : .nothing }

    /// The answer was written.
    mutating func finished(isWritable: Bool) -> Action {
        guard phase == .answering else { return .nothing }
        phase = .draining
        return writabilityChanged(isWritable: isWritable)
    }

    /// A reader who stops gets no further answers, so that they do not fill the memory.
    mutating func writabilityChanged(isWritable: Bool) -> Action {
        guard phase == .draining, isWritable else { return .nothing }
        phase = .idle
        guard !isReleasing else { return .nothing }
        isReleasing = true
        return .release
    }

    /// Lets go what was held, one after the other, as far as no held request is answered here itself; nil at the end.
    mutating func next() -> Action? {
        if !held.isEmpty, !isAnswering {
            owesCompletion = true
            return .receive(held.removeFirst())
        }
        if owesCompletion, held.isEmpty {
            owesCompletion = false
            return .completeRead
        }
        isReleasing = false
        guard holdsRead, !isAnswering else { return nil }
        holdsRead = false
        return .read
    }
}
