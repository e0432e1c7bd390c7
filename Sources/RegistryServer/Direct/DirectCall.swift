import HTTPTypes
import Logging
import NIOCore
import RegistryCore
import RegistryStore

/// A hot call that was admitted from caches alone.
struct DirectCall: Sendable {
    fileprivate let admission: Admission
    fileprivate let scope: Scope
    fileprivate let action: @Sendable (ScopedCall) throws -> DeferredAnswer
    let head: HTTPRequest
    fileprivate let start = NIODeadline.now()

    var network: CallerNetwork? { admission.network }
}

extension RegistryResponder {
    /// The call of a request, if the caches suffice and the request is ordinary.
    ///
    /// All others, including those that will be rejected, take the usual way, which gives the reason.
    ///
    /// - Parameters:
    ///   - peer: the address at the other end of the connection.
    ///   - lastKey: the key of the connection's last request; becomes this one's.
    func directCall(_ head: HTTPRequest, from peer: IPAddress?, after lastKey: inout RememberedKey?)
        -> DirectCall?
    {
        let fields = head.headerFields
        // The usual way announces the connection's last answer.
        guard !parts.shutdownNotice.isGiven else { return nil }
        guard head.method != .head, Self.isOrdinary(fields), let located = try? locate(head),
            case .hot(let action, asLines: _) = located.match.route.action, isBrief(located, fields),
            located.match.route.body != .none || !fields.contains(.contentLength),
            let principal = access.authenticator.knownPrincipal(
                for: fields,
                of: located.match.parameters["bundleId"],
                after: &lastKey
            ),
            case .admitted(let admission)? = try? admit(
                principal,
                to: located,
                fields,
                from: network(of: fields, from: peer)
            ),
            let scope = admission.place.scope
        else { return nil }
        return DirectCall(admission: admission, scope: scope, action: action, head: head)
    }

    /// Whether the fields leave the connection's state unchanged. A connection's last request has `close`: see
    /// ``HTTP1Framing``. Many clients send `keep-alive` with each request.
    private static func isOrdinary(_ fields: HTTPFields) -> Bool {
        !fields.contains(.expect) && (!fields.contains(.connection) || fields[.connection] != "close")
    }

    /// Starts a call.
    ///
    /// - Parameters:
    ///   - body: the whole body, empty if there is none.
    ///   - complete: called once, on any thread.
    func start(
        _ direct: DirectCall,
        body: ByteBuffer,
        on executor: (any TaskExecutor)?,
        logger: Logger,
        complete: @escaping @Sendable (@escaping @Sendable () -> DirectAnswer) -> Void
    ) {
        let (admission, fields) = (direct.admission, direct.head.headerFields)
        let request = AnsweredRequest(
            method: direct.head.method,
            fields: fields,
            located: admission.located,
            meters: admission.route.meters,
            refusals: metrics.refusals,
            requestID: RequestID.choose(fields[RequestID.field]),
            start: direct.start
        )
        let answer: @Sendable (Result<WholeAnswer, any Error>) -> DirectAnswer = {
            DirectAnswer(request.answer($0, logger), requestID: request.requestID)
        }
        let count: RequestCount
        do {
            count = try self.count(admission)
        } catch {
            return complete { answer(.failure(error)) }
        }
        do {
            try begin(direct, body).begin(on: executor) { make in complete { answer(count.finish(make())) } }
        } catch {
            complete { answer(count.finish(.failure(error))) }
        }
    }

    private func begin(_ direct: DirectCall, _ body: ByteBuffer) throws -> DeferredAnswer {
        let json = direct.admission.route.body == .none ? nil : try bodies.parse(body, direct.head.headerFields)
        // A body that arrived in one read is decoded at once, without reserved room.
        let received = json.map { ReceivedBody(json: $0, reservation: nil) }
        return try direct.action(
            ScopedCall(call: direct.admission.call(parts, body: received), scope: direct.scope)
        )
    }
}
