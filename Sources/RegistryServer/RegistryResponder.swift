import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import RegistryCore
import RegistryStore

/// Takes a request through the stages in which it can be refused, and turns what comes of it into a response.
///
/// The order is that of the contract: path, host, route, method, credentials, app, role, body, and then the call itself.
/// Postgres is not asked before the stage that needs it.
struct RegistryResponder: HTTPResponder {
    let registry: Registry
    let access: AccessState
    let rateLimits: RateLimits
    let addresses: ClientAddress
    let bodies: BodyReader
    let feedback: FeedbackRecorder
    let console: Console
    let metrics: ServiceMetrics
    let shutdownNotice: ShutdownNotice
    let routes: RouteTable
    let loneCaller = LoneCaller()

    /// - Parameters:
    ///   - metrics: where requests and what comes of them are counted; nil for a place of its own.
    ///   - sweeps: what the console tells of the sweep.
    ///   - routes: what there is to be called.
    init(
        registry: Registry,
        configuration: ServerConfiguration,
        clock: ServiceClock = .system,
        logger: Logger,
        metrics: ServiceMetrics? = nil,
        sweeps: SweepJournal = SweepJournal(),
        routes: [Route] = Route.all + Route.console + Route.docs
    ) {
        self.registry = registry
        let metrics = metrics ?? ServiceMetrics(registry: registry, configuration: configuration, clock: clock)
        self.metrics = metrics
        shutdownNotice = configuration.shutdownNotice
        self.routes = RouteTable(metrics.measured(routes))
        access = AccessState(registry: registry, configuration: configuration, clock: clock)
        rateLimits = RateLimits(configuration, clock: clock)
        addresses = ClientAddress(trustedProxies: configuration.trustedProxies)
        bodies = BodyReader(limits: configuration.limits)
        feedback = FeedbackRecorder(clock: clock, logger: logger, metrics: metrics.factory)
        console = Console(configuration: configuration, sweeps: sweeps)
    }

    /// Answers a request, whatever is wrong with it.
    ///
    /// - Throws: only when the connection broke, so that there is nobody to answer.
    func respond(to request: Request, context: ConnectionContext) async throws -> Response {
        let start = NIODeadline.now()
        let id = RequestID.choose(request.headers[RequestID.field])
        let located = Result { try locate(request.head) }
        let result: Result<Answer, any Error>
        do {
            result = .success(try await perform(located.get(), request, context))
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
            isPage: Console.owns(request.head.path),
            meters: place?.match.route.meters ?? metrics.unmatched,
            requestID: id,
            start: start
        )
        return answered.answer(result, context.logger).response(requestID: id, isHead: request.method == .head)
    }

    /// A request whose route is known.
    struct Located {
        let target: RequestTarget
        let match: RouteTable.Match
    }

    func locate(_ head: HTTPRequest) throws -> Located {
        try access.authenticator.checkHost(of: head)
        let target = try RequestTarget(head.path ?? "")
        return Located(target: target, match: try routes.match(head.method, target.parts))
    }

    private func perform(_ located: Located, _ request: Request, _ context: ConnectionContext) async throws -> Answer {
        if case .page(let page) = located.match.route.action {
            return try await perform(page, located, request, context)
        }
        let (route, fields) = (located.match.route, request.headers)
        let principal = try await findPrincipal(for: located.match, fields)
        let place = try await findPlace(of: located.match, for: principal)
        try route.access.check(principal)
        let standing = try countRequest(of: principal, to: route, fields, from: context.channel.remoteAddress)
        let body = try await bodies.read(request, as: route.body, from: context.channel)
        let lines = try bodies.lines(of: request, as: route.body, from: context.channel)
        let call = Call(to: self, located, fields, by: principal, body: body, lines: lines)
        return try await perform(route.action, call, place).with(standing)
    }

    private func perform(_ action: Route.Action, _ call: Call, _ place: Place) async throws -> Answer {
        switch (action, place) {
        case (.plain(let action), _): return try await action(call)
        case (.app(let action), .app(let app)): return try await action(AppCall(call: call, app: app))
        case (.scoped(let action), .scope(let scope)): return try await action(ScopedCall(call: call, scope: scope))
        case (.hot(let action), .scope(let scope)): return try await action(ScopedCall(call: call, scope: scope)).answer
        case (.app, _), (.scoped, _), (.hot, _), (.page, _): throw Problem.unknownApp
        }
    }

    /// What the path is about.
    enum Place {
        case none
        case app(App)
        case scope(Scope)

        /// The app and environment, of those that are about one.
        var scope: Scope? {
            guard case .scope(let scope) = self else { return nil }
            return scope
        }
    }
}

extension RegistryResponder {
    /// Where everyone may call, credentials are not looked at, wrong ones neither: `/livez` must not wait for Postgres.
    private func findPrincipal(for match: RouteTable.Match, _ fields: HTTPFields) async throws -> Principal {
        let route = match.route
        guard route.access != .everyone else { return .anonymous }
        let principal = try await access.authenticator.principal(for: fields, of: match.parameters["bundleId"])
        try route.access.checkCredentials(of: principal)
        return principal
    }

    /// The app, and the environment, of the path, for routes that are about one.
    ///
    /// An app that the credentials do not belong to is refused before anyone looks whether there is such an app, so the
    /// two cannot be told apart by the time that it takes either.
    ///
    /// - Throws: `unknown-app`.
    func findPlace(of match: RouteTable.Match, for principal: Principal) async throws -> Place {
        guard let name = match.parameters["bundleId"] else { return .none }
        try Self.check(name, isAppOf: principal)
        switch match.route.action {
        case .plain: return .none
        case .app: return .app(try await findApp(name))
        case .scoped, .hot, .page:
            let environment = try Self.environment(of: match)
            return .scope(Scope(app: try await findApp(name), environment: environment))
        }
    }

    /// - Throws: `unknown-app` when the credentials belong to another app.
    static func check(_ name: String, isAppOf principal: Principal) throws(Problem) {
        if let own = principal.app, own.rawValue != name { throw Problem.unknownApp }
    }

    /// - Throws: `unknown-app` for a word that names no environment.
    static func environment(of match: RouteTable.Match) throws(Problem) -> APNSEnvironment {
        guard let environment = match.parameters["environment"].flatMap(APNSEnvironment.init(rawValue:)) else {
            throw Problem.unknownApp
        }
        return environment
    }

    /// Probes of load balancers and the like are not counted; who signs in to the console is, by address.
    func countRequest(
        of principal: Principal,
        to route: Route,
        _ fields: HTTPFields,
        from remote: SocketAddress?
    ) throws -> RateLimiter.Standing? {
        guard route.access != .everyone || route.body == .form else { return nil }
        return try rateLimits.count(principal, from: addresses.find(IPAddress(remote), fields))
    }

    private func findApp(_ name: String) async throws -> App {
        guard let bundleID = try? BundleID(name), let app = try await access.apps.app(bundleID) else {
            throw Problem.unknownApp
        }
        return app
    }
}

extension RegistryResponder {
    /// What an answer, the metrics and the log say of a request.
    struct AnsweredRequest: Sendable {
        let method: HTTPRequest.Method
        let fields: HTTPFields
        let located: Located?
        /// Whether what is wrong is told by a page of the console.
        var isPage = false
        let meters: RouteMeters?
        let requestID: String
        let start: NIODeadline

        /// The answer to what came of the request; counts it, and logs it and what went wrong within.
        func answer(_ result: Result<Answer, any Error>, _ logger: Logger) -> Answer {
            let duration = NIODeadline.now() - start
            let answer = answer(result, logger: logger)
            meters?.count(answer.status, after: duration)
            // Nobody wants most requests logged, and metadata costs as much as their own work here.
            if logger.logLevel <= .debug { named(logger).debug("request", metadata: summary(of: answer, duration)) }
            return answer
        }

        private func answer(_ result: Result<Answer, any Error>, logger: Logger) -> Answer {
            switch result {
            case .success(let answer): answer
            case .failure(let error):
                isPage
                    ? .page(of: error, requestID: requestID, logger: named(logger))
                    : Answer(error, requestID: requestID, logger: named(logger))
            }
        }

        /// The log with the names by which the request is found again: ours, and that of the caller's trace.
        private func named(_ logger: Logger) -> Logger {
            var logger = logger
            logger[metadataKey: "request-id"] = "\(requestID)"
            if let trace = TraceParent(fields[TraceParent.field]) {
                logger[metadataKey: "trace-id"] = "\(trace.traceID)"
                logger[metadataKey: "parent-id"] = "\(trace.parentID)"
            }
            return logger
        }

        /// The request's template and never its path, which may hold an installation's id.
        private func summary(of answer: Answer, _ duration: TimeAmount) -> Logger.Metadata {
            [
                "method": "\(method.rawValue.prefix(16))",
                "route": "\(located?.match.route.template ?? "-")",
                "status": "\(answer.status.code)",
                "milliseconds": "\(Double(duration.nanoseconds) / 1e6)",
            ]
        }
    }
}
