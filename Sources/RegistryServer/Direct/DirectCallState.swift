import HTTPTypes
import NIOCore
import NIOHTTPTypes

/// The requests of a connection and the order of their answers: a value without socket and pipeline.
///
/// Answers keep the order of requests: a call is taken only if no earlier request is open after the handler, and during
/// a call all later input is held, including reads.
///
/// Every method returns its caller's next action. A request is large, and not part of an action: `takeRequest()`
/// returns it.
struct DirectCallState<Call, Answer, Event> {
    enum Action {
        case nothing
        case pass(Event)
        /// Take the request, and pass it on after all, with the received part of its body.
        case handOn
        /// Take the request, and make its answer.
        case start
        case write(Answer)
        case read
        /// Perform all actions of `next()`.
        case release
        /// Receive a held event as if it came now.
        case receive(Event)
        /// Receive the end of a read.
        case completeRead
    }

    struct Request {
        let call: Call
        var body = ByteBuffer()
        /// Room for a body that did not arrive in one read, kept until the body is decoded.
        var room: BodyReservation?
    }

    private enum Phase {
        case idle
        case reading
        /// Until the answer is written.
        case answering
        /// The answer was written, and exceeds the socket's buffers.
        case draining
        case removed
    }

    private var phase = Phase.idle
    /// The request of the taken call, until it is started.
    private var request: Request?
    /// Unanswered requests after the handler.
    private var downstreamRequests = 0
    private var held: [Event] = []
    private var holdsRead = false
    private var isReleasing = false
    /// Held events were released, the end of their read was not.
    private var owesCompletion = false

    private var isAnswering: Bool { phase == .answering || phase == .draining }

    /// The request to pass on or start; the state keeps nothing of it.
    mutating func takeRequest() -> Request? { request.take() }
}

extension DirectCallState {
    /// - Parameters:
    ///   - event: the part as it came.
    ///   - admit: the call of a request that can be answered here; evaluated only if the order allows it.
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

    /// Any other event, an error, or a part of a request that is not read here.
    mutating func receive(_ event: Event) -> Action {
        switch phase {
        case .idle, .reading: return .pass(event)
        case .answering, .draining: held.append(event)
        case .removed: break
        }
        return .nothing
    }

    /// Most bodies arrive in one read. Others may take longer, and reserve their announced size; without room the usual
    /// way reports it.
    mutating func readCompleted(reserve: (Call) -> BodyReservation?) -> Action {
        guard phase == .reading, let call = request?.call, request?.room == nil else { return .nothing }
        request?.room = reserve(call)
        guard request?.room == nil else { return .nothing }
        phase = .idle
        downstreamRequests += 1
        return .handOn
    }

    mutating func wantsRead() -> Action {
        switch phase {
        case .idle, .reading: return .read
        // A client that waits for its answer sends nothing meanwhile, and changing the kernel's event registration
        // twice is expensive.
        case .answering where held.isEmpty: return .read
        case .answering, .draining: holdsRead = true
        case .removed: break
        }
        return .nothing
    }

    mutating func responseEnded() {
        // Invalid HTTP is answered, too, and was no request.
        if downstreamRequests > 0 { downstreamRequests -= 1 }
    }

    /// A removed handler does nothing more, and does not write the current answer.
    mutating func removed() {
        self = Self()
        phase = .removed
    }
}

extension DirectCallState {
    func answered(_ answer: Answer) -> Action { phase == .answering ? .write(answer) : .nothing }

    mutating func finished(isWritable: Bool) -> Action {
        guard phase == .answering else { return .nothing }
        phase = .draining
        return writabilityChanged(isWritable: isWritable)
    }

    /// A reader that stops gets no further answers, so that they do not fill the memory.
    mutating func writabilityChanged(isWritable: Bool) -> Action {
        guard phase == .draining, isWritable else { return .nothing }
        phase = .idle
        guard !isReleasing else { return .nothing }
        isReleasing = true
        return .release
    }

    /// Releases held events one by one, until a held request is answered here; nil at the end.
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
