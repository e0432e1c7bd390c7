import HTTPTypes

/// One call of the API: where it is, who may make it, how large its body may be, and what it does.
struct Route: Sendable {
    /// How large a request's body may be.
    enum Body: Sendable, Hashable {
        /// A body is not looked at.
        case none
        /// JSON about one thing.
        case single
        /// JSON about many things.
        case batch
        /// JSON about many things; or a line of NDJSON about each, which the call itself reads, however many.
        case batchOrLines
        /// A form of the console.
        case form
    }

    /// The cost of a call, so that nobody may have any number of them under way.
    enum Cost: Sendable, Hashable {
        /// It reads and writes one record, or a page.
        case light
        /// It may be about many records.
        case heavy
        /// It is light, unless all there is is asked for, as NDJSON.
        case heavyAsLines
    }

    /// The function that answers a request for a page of the console.
    typealias Page = @Sendable (ConsoleCall) async throws -> Answer

    /// The work of a route, by what it needs to know first.
    enum Action: Sendable {
        case plain(@Sendable (Call) async throws -> Answer)
        /// The path begins with an app that there is.
        case app(@Sendable (AppCall) async throws -> Answer)
        /// The path begins with an app that there is and an environment.
        case scoped(@Sendable (ScopedCall) async throws -> Answer)
        /// The same, for the calls that most requests make: it checks all that can be checked at once, and leaves the
        /// rest to a ``DeferredAnswer``. Where the caller wants NDJSON and the call has that, another one answers.
        case hot(
            @Sendable (ScopedCall) throws -> DeferredAnswer,
            asLines: (@Sendable (ScopedCall) async throws -> Answer)?
        )
        /// A page of the console, whose callers show a cookie; below an app and an environment it is about those.
        case page(Page)
    }

    let method: HTTPRequest.Method
    /// Such as `/v1/apps/{bundleId}`; what stands in braces is any one part of a path that is not empty.
    let template: String
    let access: Access
    let body: Body
    let action: Action
    var cost = Cost.light
    /// Counts the route's requests, in a service that runs.
    var meters: RouteMeters?

    /// Whether it is a page of the console.
    var isPage: Bool {
        guard case .page = action else { return false }
        return true
    }

    /// The same, whose calls are heavy.
    var heavy: Route { costing(.heavy) }

    /// The same, whose calls cost so much.
    func costing(_ cost: Cost) -> Route {
        var route = self
        route.cost = cost
        return route
    }

    /// Whether a request is a heavy call.
    ///
    /// - Parameter asLines: whether the caller wants NDJSON.
    func isHeavy(asLines: Bool) -> Bool {
        switch cost {
        case .light: false
        case .heavy: true
        case .heavyAsLines: asLines
        }
    }

    /// A call that is not about one app, or that need not find it.
    static func plain(
        _ method: HTTPRequest.Method,
        _ template: String,
        for access: Access,
        body: Body = .none,
        _ action: @escaping @Sendable (Call) async throws -> Answer
    ) -> Route {
        Route(method: method, template: template, access: access, body: body, action: .plain(action))
    }

    /// A call below `/v1/apps/{bundleId}` about an app that there must be.
    static func app(
        _ method: HTTPRequest.Method,
        _ template: String,
        for access: Access,
        body: Body = .none,
        _ action: @escaping @Sendable (AppCall) async throws -> Answer
    ) -> Route {
        Route(method: method, template: template, access: access, body: body, action: .app(action))
    }

    /// A call below `/v1/apps/{bundleId}/{environment}`, which `…` stands for.
    static func scoped(
        _ method: HTTPRequest.Method,
        _ template: String,
        for access: Access,
        body: Body = .none,
        _ action: @escaping @Sendable (ScopedCall) async throws -> Answer
    ) -> Route {
        Route(method: method, template: scope(template), access: access, body: body, action: .scoped(action))
    }

    /// One of those that most requests make; see ``Action/hot(_:asLines:)``.
    static func hot(
        _ method: HTTPRequest.Method,
        _ template: String,
        for access: Access,
        body: Body = .none,
        asLines: (@Sendable (ScopedCall) async throws -> Answer)? = nil,
        _ action: @escaping @Sendable (ScopedCall) throws -> DeferredAnswer
    ) -> Route {
        let action = Action.hot(action, asLines: asLines)
        return Route(method: method, template: scope(template), access: access, body: body, action: action)
    }

    /// A page of the console.
    static func page(
        _ method: HTTPRequest.Method,
        _ template: String,
        for access: Access,
        body: Body = .none,
        _ page: @escaping Page
    ) -> Route {
        Route(method: method, template: template, access: access, body: body, action: .page(page))
    }

    /// The same route, whose requests are counted.
    func measured(by metrics: ServiceMetrics) -> Route {
        var route = self
        route.meters = metrics.meters(method: method.rawValue, template: template)
        return route
    }

    private static func scope(_ template: String) -> String {
        "/v1/apps/{bundleId}/{environment}" + template.dropFirst()
    }
}
