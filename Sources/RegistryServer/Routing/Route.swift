import HTTPTypes

/// One call of the API: its path, its permitted callers, its body's limit, and its work.
struct Route: Sendable {
    enum Body: Sendable, Hashable {
        /// A body is ignored.
        case none
        /// JSON about one record.
        case single
        /// JSON about many records.
        case batch
        /// JSON about many records; or any number of NDJSON lines, which the call itself reads.
        case batchOrLines
        case form
    }

    /// The cost of a call, which limits concurrent calls.
    enum Cost: Sendable, Hashable {
        /// It reads and writes one record, or a page.
        case light
        /// It may concern many records.
        case heavy
        /// Heavy, but a small one is so quick that it runs on the thread of its connection's event loop.
        case heavyUnlessSmall
        /// Light, unless everything is requested as NDJSON.
        case heavyAsLines
    }

    typealias Page = @Sendable (ConsoleCall) async throws -> Response

    /// The work of a route, by its inputs.
    enum Action: Sendable {
        case plain(@Sendable (Call) async throws -> Response)
        /// The path begins with an existing app.
        case app(@Sendable (AppCall) async throws -> Response)
        /// The path begins with an existing app and an environment.
        /// Another function answers requests for NDJSON, if the call has it.
        case scoped(
            @Sendable (ScopedCall) async throws -> Response,
            asLines: (@Sendable (ScopedCall) async throws -> Response)?
        )
        case page(Page)
    }

    let method: HTTPRequest.Method
    /// Such as `/v1/apps/{bundleId}`; braces match any one part of a path that is not empty.
    let template: String
    let access: Access
    let body: Body
    let action: Action
    var cost = Cost.light
    /// Counts the route's requests in a running service.
    var metrics: RouteMetrics?

    var isPage: Bool {
        guard case .page = action else { return false }
        return true
    }

    var heavy: Route { costing(.heavy) }

    func costing(_ cost: Cost) -> Route {
        var route = self
        route.cost = cost
        return route
    }

    /// - Parameter asLines: whether the caller prefers NDJSON.
    func isHeavy(asLines: Bool) -> Bool {
        switch cost {
        case .light: false
        case .heavy, .heavyUnlessSmall: true
        case .heavyAsLines: asLines
        }
    }

    static func plain(
        _ method: HTTPRequest.Method,
        _ template: String,
        for access: Access,
        body: Body = .none,
        _ action: @escaping @Sendable (Call) async throws -> Response
    ) -> Route {
        Route(method: method, template: template, access: access, body: body, action: .plain(action))
    }

    /// A call below `/v1/apps/{bundleId}`.
    static func app(
        _ method: HTTPRequest.Method,
        _ template: String,
        for access: Access,
        body: Body = .none,
        _ action: @escaping @Sendable (AppCall) async throws -> Response
    ) -> Route {
        Route(method: method, template: template, access: access, body: body, action: .app(action))
    }

    /// A call below `/v1/apps/{bundleId}/{environment}`, for which `…` stands.
    static func scoped(
        _ method: HTTPRequest.Method,
        _ template: String,
        for access: Access,
        body: Body = .none,
        asLines: (@Sendable (ScopedCall) async throws -> Response)? = nil,
        _ action: @escaping @Sendable (ScopedCall) async throws -> Response
    ) -> Route {
        let action = Action.scoped(action, asLines: asLines)
        return Route(method: method, template: scope(template), access: access, body: body, action: action)
    }

    static func page(
        _ method: HTTPRequest.Method,
        _ template: String,
        for access: Access,
        body: Body = .none,
        _ page: @escaping Page
    ) -> Route {
        Route(method: method, template: template, access: access, body: body, action: .page(page))
    }

    func measured(by metrics: ServiceMetrics) -> Route {
        var route = self
        route.metrics = metrics.metrics(method: method.rawValue, template: template)
        return route
    }

    private static func scope(_ template: String) -> String {
        "/v1/apps/{bundleId}/{environment}" + template.dropFirst()
    }
}
