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
    let logger: Logger
    private let failedCredentialDelay: Duration

    var registry: Registry { parts.registry }
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
        parts = ServiceParts(
            registry: registry,
            configuration: configuration,
            clock: clock,
            logger: logger,
            metrics: metrics
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
            located = try locate(request)
        } catch {
            return response(.failure(error), to: request, nil)
        }
        guard !isBrief(located) else { return await respond(to: located) }
        return await withTaskExecutorPreference(globalConcurrentExecutor) { await respond(to: located) }
    }

    private func respond(to located: RoutedRequest) async -> Response? {
        do {
            return response(.success(try await perform(located)), to: located.request, located)
        } catch is ConnectionLost {
            return nil
        } catch {
            return response(.failure(error), to: located.request, located)
        }
    }

    private func perform(_ located: RoutedRequest) async throws -> Response {
        if case .page(let page) = located.route.action { return try await servePage(page, located) }
        if let admission = try knownAdmission(to: located) { return try await perform(admission) }
        let start = ContinuousClock.now
        let principal = try await findPrincipal(of: located)
        let admission = try await admission(of: principal, to: located)
        return try await registry.spending(ContinuousClock.now - start) { try await perform(admission) }
    }

    private func perform(_ admission: Admission) async throws -> Response {
        var count = try count(admission)
        do {
            let call = try await receive(admission)
            try beginHeavyCall(admission, &count)
            return count.finish(try await execute(call, admission))
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
        guard let length = located.fields[.contentLength].flatMap(Int.init) else { return route.body == .single }
        return length <= bodies.limits.singleBody
    }

    private func receive(_ admission: Admission) async throws -> Call {
        guard admission.route.body != .none else { return Call(admission, parts) }
        return Call(admission, parts, body: try await bodies.read(admission.located))
    }

    private func execute(_ call: Call, _ admission: Admission) async throws -> Response {
        switch (admission.route.action, admission.app) {
        case (.plain(let action), _): return try await action(call)
        case (.app(let action), let app?): return try await action(call, app)
        case (.scoped(let action), _):
            if let scope = admission.scope { return try await action(ScopedCall(call: call, scope: scope)) }
        case (.app, nil), (.page, _): break
        }
        throw Problem.unknownApp
    }

    /// Admission from the caches alone. Nil if it needs Postgres.
    ///
    /// Public calls ignore credentials, even invalid ones, because `/livez` must not wait for Postgres.
    private func knownAdmission(to located: RoutedRequest) throws(Problem) -> Admission? {
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
            await parts.clock.sleep(until: start + failedCredentialDelay)
            throw problem
        }
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
    var bundleID: String? { match.parameters["bundleId"] }
    var isHeavy: Bool { route.isHeavy(asLines: wantsLines) }
}
