import Foundation
import HTTPTypes
import Logging
import NIOCore
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
    fileprivate let start = ContinuousClock.now
}

extension RegistryResponder {
    /// The call that a request makes, if nobody need be asked about it and nothing about it is out of the ordinary.
    ///
    /// All others, those that will be refused among them, take the usual way, which tells them so; what is decided here is
    /// decided there by the same methods.
    func directCall(_ head: HTTPRequest, from remote: SocketAddress?) -> DirectCall? {
        let fields = head.headerFields
        guard Self.isOrdinary(fields), let located = try? locate(head),
            case .hot(let action) = located.match.route.action,
            isSmall(fields, for: located.match.route.body), head.method != .head,
            let principal = access.authenticator.knownPrincipal(for: fields),
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
            && fields[.accept].map(MediaType.acceptsLines) != true
    }

    private func isSmall(_ fields: HTTPFields, for body: Route.Body) -> Bool {
        guard let length = fields[.contentLength] else { return true }
        return body == .single && Int(length).map { $0 <= bodies.limits.singleBody } == true
    }

    private func knownScope(of match: RouteTable.Match, for principal: Principal) -> Scope? {
        guard let name = match.parameters["bundleId"], principal.app == nil || principal.app?.rawValue == name,
            let environment = match.parameters["environment"].flatMap(APNSEnvironment.init(rawValue:)),
            let app = (try? BundleID(name)).flatMap(access.apps.known)
        else { return nil }
        return Scope(app: app, environment: environment)
    }

    /// Makes a call.
    ///
    /// - Parameters:
    ///   - body: the whole body, empty where there is none.
    ///   - executor: where to go on between waits.
    ///   - complete: told how to make the response and its body, once, on any thread.
    func perform(
        _ direct: DirectCall,
        body: ByteBuffer,
        on executor: any TaskExecutor,
        logger: Logger,
        complete: @escaping @Sendable (@escaping @Sendable () -> (HTTPResponse, [UInt8])) -> Void
    ) {
        let requestID = RequestID.choose(direct.head.headerFields[RequestID.field])
        let respond: @Sendable (Result<Answer, any Error>, RateLimiter.Standing?) -> (HTTPResponse, [UInt8]) = {
            result,
            standing in
            let answer = Self.answer(result, standing, requestID: requestID, logger)
            logger.debug(
                "request",
                metadata: Self.summary(direct.head.method, direct.located, answer, since: direct.start)
                    .merging(["request-id": "\(requestID)"]) { $1 }
            )
            var bytes: [UInt8] = []
            if case .bytes(let written) = answer.body { bytes = written }
            var fields = answer.allFields(requestID: requestID)
            fields[.contentLength] = String(bytes.count)
            fields[.date] = HTTPDate.now
            return (HTTPResponse(status: answer.status, headerFields: fields), bytes)
        }
        do {
            let (deferred, standing) = try begin(direct, body)
            deferred.begin(on: executor) { make in complete { respond(make(), standing) } }
        } catch {
            complete { respond(.failure(error), nil) }
        }
    }

    private func begin(_ direct: DirectCall, _ body: ByteBuffer) throws -> (DeferredAnswer, RateLimiter.Standing?) {
        let fields = direct.head.headerFields
        let route = direct.located.match.route
        let standing = try countRequest(of: direct.principal, to: route, fields, from: direct.remote)
        let call = Call(
            registry: registry,
            access: access,
            principal: direct.principal,
            parameters: direct.located.match.parameters,
            query: direct.located.target.query,
            fields: fields,
            body: route.body == .none ? .null : try BodyReader.parse(body, fields),
            lines: nil,
            feedback: feedback
        )
        return (try direct.action(ScopedCall(call: call, scope: direct.scope)), standing)
    }

    private static func answer(
        _ result: Result<Answer, any Error>,
        _ standing: RateLimiter.Standing?,
        requestID: String,
        _ logger: Logger
    ) -> Answer {
        switch result {
        case .success(var answer):
            if let standing { answer.fields.add(standing) }
            return answer
        case .failure(let error):
            var logger = logger
            logger[metadataKey: "request-id"] = "\(requestID)"
            return Answer(error, requestID: requestID, logger: logger)
        }
    }
}
