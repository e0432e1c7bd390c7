import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import RegistryCore
import RegistryStore

/// Takes a request through the stages in which it can be rejected, and converts its result to a response.
///
/// The order of refusals is fixed: host, path, route, method, origin, credentials, app, role, quota, body, and then the
/// call itself. Postgres is not asked before the stage that needs it.
struct RegistryResponder: HTTPResponder {
    let parts: ServiceParts
    let rateLimits: RateLimits
    let heavyCalls: HeavyCalls
    let addresses: ClientAddress
    let bodies: BodyReader
    let console: Console
    let routes: RouteTable
    private let failedCredentialDelay: Duration

    var registry: Registry { parts.registry }
    var access: AccessState { parts.access }
    var metrics: ServiceMetrics { parts.metrics }

    /// - Parameters:
    ///   - metrics: nil for its own.
    ///   - sweeps: for the console.
    init(
        registry: Registry,
        configuration: ServerConfiguration,
        clock: ServiceClock = .system,
        logger: Logger,
        metrics: ServiceMetrics? = nil,
        sweeps: SweepJournal = SweepJournal(),
        routes: [Route] = Route.all + Route.console + Route.docs
    ) {
        let metrics = metrics ?? ServiceMetrics(registry: registry, configuration: configuration, clock: clock)
        let shutdownNotice = configuration.shutdownNotice
        parts = ServiceParts(
            registry: registry,
            access: AccessState(registry: registry, configuration: configuration, clock: clock, logger: logger),
            feedback: FeedbackRecorder(clock: clock, logger: logger, metrics: metrics.factory),
            metrics: metrics,
            shutdownNotice: shutdownNotice,
            changeFeed: ChangeFeed(registry: registry, shutdownNotice: shutdownNotice, logger: logger)
        )
        self.routes = RouteTable(routes.map { $0.measured(by: metrics) })
        rateLimits = RateLimits(configuration, clock: clock)
        heavyCalls = HeavyCalls(configuration.heavyCalls)
        failedCredentialDelay = configuration.limits.failedCredentialDelay
        addresses = ClientAddress(trustedProxies: configuration.trustedProxies)
        bodies = BodyReader(limits: configuration.limits, budget: BodyBudget(configuration.limits.bodiesUnderWay))
        console = Console(configuration: configuration, sweeps: sweeps)
    }

    /// - Throws: only if the connection broke, so that no answer is possible.
    func respond(to request: Request, context: ConnectionContext) async throws -> Response {
        let start = NIODeadline.now()
        let id = RequestID.choose(request.headers[RequestID.field])
        let located = Result { try locate(request.head) }
        let result: Result<Answer, any Error>
        do {
            let located = try located.get()
            result = .success(
                try await withTaskExecutorPreference(isBrief(located, request.headers) ? nil : globalConcurrentExecutor)
                {
                    try await route(located, request, context)
                }
            )
        } catch let error as ConnectionLost {
            throw error.cause
        } catch {
            result = .failure(error)
        }
        let place = try? located.get()
        let answered = AnsweredRequest(
            method: request.method,
            fields: request.headers,
            located: place,
            isPage: request.head.path.map(ConsoleLink.isOfConsole) ?? false,
            meters: place?.match.route.meters ?? metrics.unmatched,
            refusals: metrics.refusals,
            requestID: id,
            start: start
        )
        return answered.answer(result, context.logger).response(requestID: id, isHead: request.method == .head)
    }

    struct RoutedRequest {
        let target: RequestTarget
        let match: RouteTable.Match
        /// Whether the caller prefers NDJSON to JSON.
        let wantsLines: Bool

        /// Whether it is a heavy call.
        var isHeavy: Bool { match.route.isHeavy(asLines: wantsLines) }
    }

    func locate(_ head: HTTPRequest) throws -> RoutedRequest {
        try access.authenticator.checkHost(of: head)
        let target = try RequestTarget(head.path ?? "")
        let match = try routes.match(head.method, target.parts)
        // Pages check it themselves, with credentials, too.
        if !match.route.isPage { try access.authenticator.checkOrigin(of: head) }
        return RoutedRequest(target: target, match: match, wantsLines: AcceptField.prefersLines(head.headerFields))
    }

    /// Whether a request is so quick that it may run on the thread of its connection's event loop, which blocks other
    /// connections meanwhile: a hot call with a small body, or a public answer from memory. A large batch or a page
    /// takes many milliseconds.
    func isBrief(_ located: RoutedRequest, _ fields: HTTPFields) -> Bool {
        switch located.match.route.action {
        case .plain: return located.match.route.access == .everyone
        case .hot where !located.wantsLines && fields[.transferEncoding] == nil:
            // With HTTP/2 a body's length may be unknown.
            guard let length = fields[.contentLength] else { return located.match.route.body != .batch }
            return Int(length).map { $0 <= bodies.limits.singleBody } == true
        case .hot, .app, .scoped, .page: return false
        }
    }

    private func route(
        _ located: RoutedRequest,
        _ request: Request,
        _ context: ConnectionContext
    ) async throws -> Answer {
        if case .page(let page) = located.match.route.action {
            return try await servePage(page, located, request, context)
        }
        let (fields, start) = (request.headers, ContinuousClock.now)
        let network = network(of: fields, from: IPAddress(context.channel.remoteAddress))
        let principal = try await findPrincipal(for: located.match, fields, from: network)
        let admission = try await admission(of: principal, to: located, fields, from: network)
        let (count, lookups) = (try count(admission), ContinuousClock.now - start)
        let result = await Result.async {
            try await registry.spending(lookups) {
                try await execute(try await receive(admission, request, context), admission)
            }
        }
        return try count.finish(result).get()
    }

    /// The call with its body, which only it holds.
    private func receive(
        _ admission: Admission,
        _ request: Request,
        _ context: ConnectionContext
    ) async throws -> Call {
        let (kind, channel) = (admission.route.body, context.channel)
        let body = try await bodies.read(request, as: kind, from: channel, of: admission.network)
        let lines = try bodies.lines(of: request, as: kind, from: channel, of: admission.network)
        return admission.call(parts, body: body, lines: lines)
    }

    private func execute(_ call: Call, _ admission: Admission) async throws -> Answer {
        switch (admission.route.action, admission.place) {
        case (.plain(let action), _): return try await action(call)
        case (.app(let action), .app(let app)): return try await action(AppCall(call: call, app: app))
        case (.scoped(let action), .scope(let scope)): return try await action(ScopedCall(call: call, scope: scope))
        case (.hot(_, asLines: let action?), .scope(let scope)) where call.wantsLines:
            return try await action(ScopedCall(call: call, scope: scope))
        case (.hot(let action, asLines: _), .scope(let scope)):
            return Answer(try await action(ScopedCall(call: call, scope: scope)).answer)
        case (.app, _), (.scoped, _), (.hot, _), (.page, _): throw Problem.unknownApp
        }
    }

    /// For public calls, credentials are ignored, even invalid ones: `/livez` must not wait for Postgres.
    private func findPrincipal(
        for match: RouteTable.Match,
        _ fields: HTTPFields,
        from network: CallerNetwork?
    ) async throws -> Principal {
        guard match.route.access != .everyone else { return .anonymous }
        let (bundleID, start) = (match.parameters["bundleId"], access.clock.uptime())
        do {
            return try await access.authenticator.principal(for: fields, of: bundleID, from: network)
        } catch let problem as Problem where problem.code == .unauthenticated && bundleID != nil {
            // A fixed delay, so that the time does not reveal whether there is such an app.
            await access.clock.sleep(until: start + failedCredentialDelay)
            throw problem
        }
    }

    /// The source network of a request, also behind proxies.
    func network(of fields: HTTPFields, from peer: IPAddress?) -> CallerNetwork? {
        CallerNetwork(addresses.find(peer, fields))
    }
}

extension Result where Failure == any Error {
    static func async(_ body: () async throws -> Success) async -> Result {
        do { return .success(try await body()) } catch { return .failure(error) }
    }
}
