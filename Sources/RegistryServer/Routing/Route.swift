import HTTPTypes
import RegistryCore

/// A class because each request passes its route on.
final class Route: Sendable {
    enum Body: Sendable, Hashable {
        /// Ignores a body.
        case none
        /// JSON about one record.
        case single
        /// JSON about many records.
        case batch
        /// JSON about many records, or unlimited NDJSON lines that the call itself reads.
        case batchOrLines
        case form
    }

    /// Limits concurrent calls.
    enum Cost: Sendable, Hashable {
        /// One record or one page.
        case light
        /// Possibly many records.
        case heavy
        /// Heavy, but runs on the connection's event loop if the body is small.
        case heavyUnlessSmall
        /// Heavy if the caller prefers NDJSON.
        case heavyAsLines
    }

    typealias Page = @Sendable (ConsoleCall) async throws -> Response

    enum Action: Sendable {
        case plain(@Sendable (Call) async throws -> Response)
        /// Requires the path's app to exist.
        case app(@Sendable (Call, App) async throws -> Response)
        /// Requires the path's app to exist.
        case scoped(@Sendable (ScopedCall) async throws -> Response)
        case page(Page)
    }

    let method: HTTPRequest.Method
    /// Such as `/v1/apps/{bundleId}`. Braces match one non-empty part.
    let template: String
    let access: Access
    let body: Body
    let action: Action
    let cost: Cost
    let metrics: RouteMetrics?

    private init(
        _ method: HTTPRequest.Method,
        _ template: String,
        for access: Access,
        body: Body,
        _ action: Action,
        cost: Cost = .light,
        metrics: RouteMetrics? = nil
    ) {
        (self.method, self.template, self.access, self.body) = (method, template, access, body)
        (self.action, self.cost, self.metrics) = (action, cost, metrics)
    }

    var isPage: Bool {
        guard case .page = action else { return false }
        return true
    }

    var needsApp: Bool {
        guard case .plain = action else { return true }
        return false
    }

    var heavy: Route { costing(.heavy) }

    func costing(_ cost: Cost) -> Route { Route(method, template, for: access, body: body, action, cost: cost) }

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
        Route(method, template, for: access, body: body, .plain(action))
    }

    static func app(
        _ method: HTTPRequest.Method,
        _ template: String,
        for access: Access,
        body: Body = .none,
        _ action: @escaping @Sendable (Call, App) async throws -> Response
    ) -> Route {
        Route(method, template, for: access, body: body, .app(action))
    }

    /// A call below `/v1/apps/{bundleId}/{environment}`, abbreviated as `…`.
    static func scoped(
        _ method: HTTPRequest.Method,
        _ template: String,
        for access: Access,
        body: Body = .none,
        _ action: @escaping @Sendable (ScopedCall) async throws -> Response
    ) -> Route {
        let template = "/v1/apps/{bundleId}/{environment}" + template.dropFirst()
        return Route(method, template, for: access, body: body, .scoped(action))
    }

    static func page(
        _ method: HTTPRequest.Method,
        _ template: String,
        for access: Access,
        body: Body = .none,
        _ page: @escaping Page
    ) -> Route {
        Route(method, template, for: access, body: body, .page(page))
    }

    func measured(by metrics: ServiceMetrics) -> Route {
        let metrics = RouteMetrics(method: method.rawValue, template: template, metrics.recorded)
        return Route(method, template, for: access, body: body, action, cost: cost, metrics: metrics)
    }
}
