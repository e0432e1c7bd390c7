import HTTPTypes
import Logging
import NIOCore
import NIOHTTP1
import RegistryCore
import RegistryStore

/// A hot call of which everything is known that would have to be asked for: where it leads, who makes it, and that he may.
struct DirectCall: Sendable {
    fileprivate let located: RegistryResponder.Located
    fileprivate let action: @Sendable (ScopedCall) throws -> DeferredAnswer
    fileprivate let head: HTTPRequest
    fileprivate let principal: Principal
    fileprivate let scope: Scope
    fileprivate let remote: SocketAddress?
    fileprivate let start = NIODeadline.now()
}

extension RegistryResponder {
    /// The call that a request makes, if nobody need be asked about it and nothing about it is out of the ordinary.
    ///
    /// All others, those that will be refused among them, take the usual way, which tells them so; what is decided here is
    /// decided there by the same methods.
    ///
    /// - Parameter lastKey: the key that the connection's last request bore; becomes this one's.
    func directCall(_ head: HTTPRequest, from remote: SocketAddress?, after lastKey: inout RememberedKey?)
        -> DirectCall?
    {
        let fields = head.headerFields
        guard routes.hotMethods.contains(head.method), Self.isOrdinary(fields), let located = try? locate(head),
            case .hot(let action) = located.match.route.action,
            isSmall(fields, for: located.match.route.body),
            let principal = access.authenticator.knownPrincipal(for: fields, after: &lastKey),
            let scope = knownScope(of: located.match, for: principal),
            (try? located.match.route.access.check(principal)) != nil
        else { return nil }
        return DirectCall(
            located: located,
            action: action,
            head: head,
            principal: principal,
            scope: scope,
            remote: remote
        )
    }

    /// What changes the course of a connection, and answers that are written bit by bit, are not for this way.
    private static func isOrdinary(_ fields: HTTPFields) -> Bool {
        fields[.connection] == nil && fields[.expect] == nil && fields[.transferEncoding] == nil
            && !MediaType.acceptsLines(fields[.accept])
    }

    private func isSmall(_ fields: HTTPFields, for body: Route.Body) -> Bool {
        guard let length = fields[.contentLength] else { return true }
        return (body == .single || body == .batch) && Int(length).map { $0 <= bodies.limits.singleBody } == true
    }

    private func knownScope(of match: RouteTable.Match, for principal: Principal) -> Scope? {
        guard let name = match.parameters["bundleId"], (try? Self.check(name, isAppOf: principal)) != nil,
            let environment = try? Self.environment(of: match),
            let app = (try? BundleID(name)).flatMap(access.apps.known)
        else { return nil }
        return Scope(app: app, environment: environment)
    }

    /// Makes a call.
    ///
    /// - Parameters:
    ///   - body: the whole body, empty where there is none.
    ///   - thread: the connection's.
    ///   - complete: told how to make the bytes of the response, once, on any thread.
    func perform(
        _ direct: DirectCall,
        body: ByteBuffer,
        on thread: CallersThread,
        logger: Logger,
        complete: @escaping @Sendable (@escaping @Sendable () -> ByteBuffer) -> Void
    ) {
        let request = AnsweredRequest(
            method: direct.head.method,
            fields: direct.head.headerFields,
            located: direct.located,
            meters: direct.located.match.route.meters,
            requestID: RequestID.choose(direct.head.headerFields[RequestID.field]),
            start: direct.start
        )
        do {
            let (deferred, standing) = try begin(direct, body)
            deferred.begin(on: thread) { make in
                complete {
                    let result = make().map { $0.with(standing) }
                    return request.answer(result, logger).bytes(requestID: request.requestID)
                }
            }
        } catch {
            complete { request.answer(.failure(error), logger).bytes(requestID: request.requestID) }
        }
    }

    private func begin(_ direct: DirectCall, _ body: ByteBuffer) throws -> (DeferredAnswer, RateLimiter.Standing?) {
        let (route, fields) = (direct.located.match.route, direct.head.headerFields)
        let standing = try countRequest(of: direct.principal, to: route, fields, from: direct.remote)
        let json = route.body == .none ? .null : try BodyReader.parse(body, fields)
        let call = Call(to: self, direct.located, fields, by: direct.principal, body: json)
        return (try direct.action(ScopedCall(call: call, scope: direct.scope)), standing)
    }
}

extension Answer {
    /// The response as it goes out. Hot calls answer with a body that is there whole.
    ///
    /// No field can hold what ends a line: `HTTPField` takes no such value.
    fileprivate func bytes(requestID: String) -> ByteBuffer {
        var body: [UInt8] = []
        if case .bytes(let written) = self.body { body = written }
        var buffer = ByteBuffer()
        buffer.reserveCapacity(512 + body.count)
        let reason = HTTPResponseStatus(statusCode: status.code).reasonPhrase
        buffer.writeString("HTTP/1.1 \(status.code) \(reason)\r\n")
        forEachField(requestID: requestID) { buffer.writeField($0.name, $0.value) }
        buffer.writeField(.contentLength, String(body.count))
        buffer.writeField(.date, HTTPDate.now)
        buffer.writeStaticString("\r\n")
        buffer.writeBytes(body)
        return buffer
    }
}

extension ByteBuffer {
    fileprivate mutating func writeField(_ name: HTTPField.Name, _ value: String) {
        writeString(name.rawName)
        writeStaticString(": ")
        writeString(value)
        writeStaticString("\r\n")
    }
}
