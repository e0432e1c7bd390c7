import HTTPTypes
import Logging
import NIOCore
import RegistryCore
import RegistryStore
import Synchronization

/// Passes a request through the stages that can reject it, and converts the result to a response.
///
/// The order of refusals is fixed: host, path, route, method, origin, credentials, app, role, quota, body, concurrent
/// heavy calls, then the call itself. No stage queries Postgres before it must.
struct RegistryResponder: Sendable {
    let parts: ServiceParts
    let rateLimits: RateLimits
    let heavyCalls: HeavyCalls
    let addresses: ClientAddress
    let bodies: BodyReader
    private(set) var routes: RouteTable

    var registry: Registry { parts.registry }
    var metrics: ServiceMetrics { parts.metrics }

    init(
        registry: Registry,
        configuration: ServerConfiguration,
        clock: ServiceClock = .system,
        logger: Logger,
        routes: [Route] = Route.all + Route.console + Route.docs
    ) {
        parts = ServiceParts(registry: registry, configuration: configuration, clock: clock, logger: logger)
        self.routes = RouteTable(routes.map { [parts] in $0.measured(by: parts.metrics) })
        rateLimits = RateLimits(configuration, clock: clock)
        heavyCalls = HeavyCalls(configuration.heavyCalls)
        addresses = ClientAddress(trustedProxies: configuration.trustedProxies)
        bodies = BodyReader(configuration.limits)
    }

    /// The same service, with other routes for another port.
    func serving(_ routes: [Route]) -> RegistryResponder {
        var responder = self
        responder.routes = RouteTable(routes.map { $0.measured(by: metrics) })
        return responder
    }

    /// Nil if the connection was lost and no response is possible.
    func respond(to request: Request) async -> Response? {
        let located: RoutedRequest
        do {
            located = try locate(request)
        } catch { return response(.failure(error), to: request, nil) }
        guard !isBrief(located) else { return await respond(to: located) }
        return await withTaskExecutorPreference(globalConcurrentExecutor) { await respond(to: located) }
    }

    private func respond(to located: RoutedRequest) async -> Response? {
        do {
            var made = try await perform(located)
            if made.bytes.count > Exchange.pieceSize {
                made.reservation = try bodies.responses.reserve(made.bytes.count, for: located.network)
            }
            return response(.success(made), to: located.request, located)
        } catch is ConnectionLost {
            return nil
        } catch { return response(.failure(error), to: located.request, located) }
    }

    private func perform(_ located: RoutedRequest) async throws -> Response {
        if case .page(let page) = located.route.action { return try await servePage(page, located) }
        if let call = try knownCall(to: located) { return try await perform(call) }
        let start = ContinuousClock.now
        let call = try await call(of: try await findPrincipal(of: located), to: located)
        return try await registry.spending(ContinuousClock.now - start) { try await perform(call) }
    }

    private func perform(_ call: Call) async throws -> Response {
        try await count(call) {
            if call.route.body != .none { call.receive(try await bodies.read(call.located)) }
        } answer: {
            switch call.route.action {
            case .plain(let action): return try await action(call)
            case .scoped(let action): return try await action(ScopedCall(call: call, scope: call.scope))
            case .page: throw Problem.unknownApp
            }
        }
    }

    /// Counts a call before its body is read. A heavy call begins after that, so that slow senders occupy no slot.
    ///
    /// Probes are exempt. Sign-ins to the console count by network.
    func count<Body>(
        _ call: Call,
        receive: () async throws -> Body,
        answer: (Body) async throws -> Response
    ) async throws -> Response {
        guard call.isCounted else { return try await answer(try await receive()) }
        var count = try rateLimits.count(call.principal, call.caller)
        do {
            let body = try await receive()
            if call.located.isHeavy {
                let place = "\(call.parameter("bundleId"))/\(call.parameter("environment"))"
                count.heavyCall = try heavyCalls.countCall(call.principal, call.caller, in: place)
            }
            return count.finish(try await answer(body))
        } catch {
            count.giveBack()
            throw error
        }
    }

    func locate(_ request: Request) throws -> RoutedRequest {
        let head = request.head
        try parts.authenticator.checkHost(of: head)
        let target = try RequestTarget(head.path ?? "")
        let match = try routes.match(head.method, target.parts)
        // Pages check the origin themselves, even with credentials.
        if !match.route.isPage { try parts.authenticator.checkOrigin(of: head) }
        let network = CallerNetwork(addresses.findAddress(request.peer, head.headerFields))
        return RoutedRequest(request, target.query, match, from: network)
    }

    /// Whether the request is fast enough for the connection's event loop, which it blocks: a public response from
    /// memory, or a call about one record or page with a small body. Large batches, console pages and the
    /// administration of apps can take many milliseconds.
    func isBrief(_ located: RoutedRequest) -> Bool {
        let route = located.route
        guard case .scoped = route.action else { return !route.isPage && route.access == .everyone }
        guard !located.isHeavy || route.cost == .heavyUnlessSmall else { return false }
        guard route.body != .none else { return true }
        // HTTP/2 requests can have no length.
        guard let length = located.fields.value(.contentLength).flatMap(Int.init) else { return route.body == .single }
        return length <= bodies.limits.singleBody
    }

    /// Admission from the caches alone. Nil if it needs Postgres.
    ///
    /// Public calls ignore credentials, even invalid ones, because `/livez` must not wait for Postgres.
    private func knownCall(to located: RoutedRequest) throws(Problem) -> Call? {
        guard located.route.access != .everyone else { return try admit(.anonymous, to: located) }
        let principal = located.request.connection.lastKey.withLock { last in
            parts.authenticator.knownPrincipal(for: located.fields, of: located.bundleID, after: &last)
        }
        guard let principal else { return nil }
        return try admit(principal, to: located)
    }

    private func findPrincipal(of located: RoutedRequest) async throws -> Principal {
        let (bundleID, start) = (located.bundleID, parts.clock.uptime())
        do {
            let authenticator = parts.authenticator
            return try await authenticator.principal(for: located.fields, of: bundleID, from: located.network)
        } catch let problem as Problem where problem.code == .unauthenticated && bundleID != nil {
            // A fixed delay hides whether the app exists.
            let rest = start + parts.configuration.limits.failedCredentialDelay - parts.clock.uptime()
            if rest > .zero { await parts.clock.sleep(rest) }
            throw problem
        }
    }

    /// Counts and logs a request, and makes the response of a failed one.
    ///
    /// - Parameter located: Nil if the request has no route.
    func response(_ result: Result<Response, any Error>, to request: Request, _ located: RoutedRequest?) -> Response {
        let duration = NIODeadline.now() - request.start
        let requestID = RequestID.choose(request.fields[RequestID.field])
        var response: Response
        switch result {
        case .success(let made): response = made
        case .failure(let error):
            let problem = Problem(error, logger: logger(of: request, requestID))
            let isPage = located?.route.isPage ?? request.head.path.map(ConsoleLink.isOfConsole) ?? false
            response = isPage ? .page(of: problem) : Response(problem, requestID: requestID)
            if let refusal = error as? Refusal {
                for field in refusal.fields { response.fields[field.name] = field.value }
                if let metric = refusal.metric { metrics.recorded.counter(metric).increment() }
            }
        }
        response.requestID = requestID
        (located?.route.metrics ?? metrics.unmatched).count(response.status, after: duration)
        // Skips the metadata below debug level, because it costs as much as the rest of the request here.
        guard parts.logger.logLevel <= .debug else { return response }
        // The template and not the path, which can contain an installation id.
        let metadata: Logger.Metadata = [
            "method": "\(request.method.rawValue.prefix(16))",
            "route": "\(located?.route.template ?? "-")",
            "status": "\(response.status.code)",
            "milliseconds": "\(Double(duration.nanoseconds) / 1e6)",
        ]
        logger(of: request, requestID).debug("request", metadata: metadata)
        return response
    }

    private func logger(of request: Request, _ requestID: String) -> Logger {
        var logger = parts.logger
        logger[metadataKey: "request-id"] = "\(requestID)"
        if let trace = TraceParent(request.fields[TraceParent.field]) {
            logger[metadataKey: "trace-id"] = "\(trace.traceID)"
            logger[metadataKey: "parent-id"] = "\(trace.parentID)"
        }
        return logger
    }
}

/// A request and its route. A class because it is large and passed on often.
final class RoutedRequest: Sendable {
    let request: Request
    let query: Query
    let match: RouteTable.Match
    let network: CallerNetwork?
    let wantsLines: Bool

    init(_ request: Request, _ query: Query, _ match: RouteTable.Match, from network: CallerNetwork?) {
        (self.request, self.query, self.match, self.network) = (request, query, match, network)
        wantsLines = AcceptField.prefersLines(request.fields)
    }

    var fields: HTTPFields { request.fields }
    var route: Route { match.route }
    var bundleID: String? { match["bundleId"] }
    var isHeavy: Bool { route.isHeavy(asLines: wantsLines) }
}

extension RegistryResponder {
    /// Decides whether a caller may make a request, without waiting. Nil if its app is needed and not cached.
    ///
    /// Rejects an app outside of the credentials before looking it up, so the time does not reveal whether it exists.
    func admit(_ principal: Principal, to located: RoutedRequest, about app: App? = nil) throws(Problem) -> Call? {
        let (match, access) = (located.match, located.route.access)
        try access.checkCredentials(of: principal)
        var (app, environment) = (app, APNSEnvironment?.none)
        if let name = match["bundleId"] {
            if let own = principal.app, own.rawValue != name { throw Problem.unknownApp }
            if located.route.needsApp {
                if let name = match["environment"] {
                    environment = APNSEnvironment(rawValue: name)
                    guard environment != nil else { throw Problem.unknownApp }
                }
                guard let bundleID = try? BundleID(name) else { throw Problem.unknownApp }
                app = app ?? parts.apps.known(bundleID)
                guard app != nil else { return nil }
            }
        }
        try access.check(principal)
        return Call(located, principal, app, environment, parts)
    }

    /// Like ``admit``, but looks up an app that is not cached.
    func call(of principal: Principal, to located: RoutedRequest) async throws -> Call {
        if let call = try admit(principal, to: located) { return call }
        guard let app = try await parts.apps.app(BundleID(located.bundleID ?? "")),
            let call = try admit(principal, to: located, about: app)
        else { throw Problem.unknownApp }
        return call
    }
}
