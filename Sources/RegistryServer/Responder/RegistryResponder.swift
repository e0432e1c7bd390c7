import HTTPTypes
import Logging
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
    let console: Console
    let routes: RouteTable
    private let logger: Logger
    private let failedCredentialDelay: Duration

    var registry: Registry { parts.registry }
    var access: AccessState { parts.access }
    var metrics: ServiceMetrics { parts.metrics }

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
            feedback: FeedbackRecorder(clock: clock, logger: logger, metrics: metrics.recorded),
            metrics: metrics,
            shutdownNotice: shutdownNotice,
            changeFeed: ChangeFeed(registry: registry, shutdownNotice: shutdownNotice, logger: logger)
        )
        self.routes = RouteTable(routes.map { $0.measured(by: metrics) })
        rateLimits = RateLimits(configuration, clock: clock)
        heavyCalls = HeavyCalls(configuration.heavyCalls)
        failedCredentialDelay = configuration.limits.failedCredentialDelay
        addresses = ClientAddress(trustedProxies: configuration.trustedProxies)
        bodies = BodyReader(configuration.limits)
        self.logger = logger
        console = Console(configuration: configuration, sweeps: sweeps, clock: clock, logger: logger)
    }

    /// Nil if the connection was lost and no response is possible.
    func respond(to request: Request) async -> Response? {
        let located: RoutedRequest
        do {
            located = try locate(request.head)
        } catch {
            return response(.failure(error), to: request, nil)
        }
        guard !isBrief(located, request.fields) else { return await respond(to: request, located) }
        return await withTaskExecutorPreference(globalConcurrentExecutor) { await respond(to: request, located) }
    }

    private func respond(to request: Request, _ located: RoutedRequest) async -> Response? {
        do {
            return response(.success(try await perform(request, located)), to: request, located)
        } catch is ConnectionLost {
            return nil
        } catch {
            return response(.failure(error), to: request, located)
        }
    }

    private func perform(_ request: Request, _ located: RoutedRequest) async throws -> Response {
        if case .page(let page) = located.match.route.action { return try await servePage(page, located, request) }
        let network = network(of: request)
        if let admission = try knownAdmission(request, to: located, from: network) {
            return try await perform(request, admission)
        }
        let start = ContinuousClock.now
        let principal = try await findPrincipal(for: located.match, request.fields, from: network)
        let admission = try await admission(of: principal, to: located, request.fields, from: network)
        return try await registry.spending(ContinuousClock.now - start) { try await perform(request, admission) }
    }

    private func perform(_ request: Request, _ admission: Admission) async throws -> Response {
        var count = try count(admission)
        do {
            let call = try await receive(admission, request)
            try beginHeavyCall(admission, &count)
            return count.finish(try await execute(call, admission))
        } catch {
            count.giveBack()
            throw error
        }
    }

    private func response(
        _ result: Result<Response, any Error>,
        to request: Request,
        _ located: RoutedRequest?
    ) -> Response {
        RequestRecord(
            method: request.method,
            fields: request.fields,
            located: located,
            isPage: located == nil && request.head.path.map(ConsoleLink.isOfConsole) == true
                || located?.match.route.isPage == true,
            metrics: located?.match.route.metrics ?? metrics.unmatched,
            refusals: metrics.refusals,
            requestID: RequestID.choose(request.fields[RequestID.field]),
            start: request.start
        ).response(result, logger)
    }

    struct RoutedRequest {
        let target: RequestTarget
        let match: RouteTable.Match
        let wantsLines: Bool

        var isHeavy: Bool { match.route.isHeavy(asLines: wantsLines) }
    }

    func locate(_ head: HTTPRequest) throws -> RoutedRequest {
        try access.authenticator.checkHost(of: head)
        let target = try RequestTarget(head.path ?? "")
        let match = try routes.match(head.method, target.parts)
        // Pages check the origin themselves, even with credentials.
        if !match.route.isPage { try access.authenticator.checkOrigin(of: head) }
        return RoutedRequest(target: target, match: match, wantsLines: AcceptField.prefersLines(head.headerFields))
    }

    /// Whether the request is fast enough for the connection's event loop, which it blocks: a public response from
    /// memory, or a call about one record or page with a small body. Large batches, console pages and the
    /// administration of apps can take many milliseconds.
    func isBrief(_ located: RoutedRequest, _ fields: HTTPFields) -> Bool {
        let route = located.match.route
        guard case .scoped = route.action else { return !route.isPage && route.access == .everyone }
        guard !located.isHeavy || route.cost == .heavyUnlessSmall else { return false }
        guard route.body != .none else { return true }
        // HTTP/2 requests can have no length.
        guard let length = fields[.contentLength].flatMap(Int.init) else { return route.body == .single }
        return length <= bodies.limits.singleBody
    }

    private func receive(_ admission: Admission, _ request: Request) async throws -> Call {
        let kind = admission.route.body
        let executor = request.connection.executor
        guard kind != .none else { return Call(admission, parts, on: executor) }
        let body = try await bodies.read(request, as: kind, of: admission.network)
        let lines = try bodies.lines(of: request, as: kind, for: admission.network)
        return Call(admission, parts, body: body, lines: lines, on: executor)
    }

    private func execute(_ call: Call, _ admission: Admission) async throws -> Response {
        switch (admission.route.action, admission.place) {
        case (.plain(let action), _): return try await action(call)
        case (.app(let action), .app(let app)): return try await action(call, app)
        case (.scoped(_, asLines: let action?), .scope(let scope)) where call.wantsLines:
            return try await action(ScopedCall(call: call, scope: scope))
        case (.scoped(let action, asLines: _), .scope(let scope)):
            return try await action(ScopedCall(call: call, scope: scope))
        case (.app, _), (.scoped, _), (.page, _): throw Problem.unknownApp
        }
    }

    /// Admission from the caches alone. Nil if it needs Postgres.
    ///
    /// Public calls ignore credentials, even invalid ones, because `/livez` must not wait for Postgres.
    private func knownAdmission(
        _ request: Request,
        to located: RoutedRequest,
        from network: CallerNetwork?
    ) throws(Problem) -> Admission? {
        let principal =
            located.match.route.access == .everyone
            ? .anonymous
            : request.connection.lastKey.withLock { last in
                access.authenticator.knownPrincipal(
                    for: request.fields,
                    of: located.match.parameters["bundleId"],
                    after: &last
                )
            }
        guard let principal else { return nil }
        return try admit(principal, to: located, request.fields, from: network)
    }

    private func findPrincipal(
        for match: RouteTable.Match,
        _ fields: HTTPFields,
        from network: CallerNetwork?
    ) async throws -> Principal {
        let (bundleID, start) = (match.parameters["bundleId"], access.clock.uptime())
        do {
            return try await access.authenticator.principal(for: fields, of: bundleID, from: network)
        } catch let problem as Problem where problem.code == .unauthenticated && bundleID != nil {
            // A fixed delay hides whether the app exists.
            await access.clock.sleep(until: start + failedCredentialDelay)
            throw problem
        }
    }

    func network(of request: Request) -> CallerNetwork? {
        CallerNetwork(addresses.findAddress(request.peer, request.fields))
    }
}
