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
        case scoped(@Sendable (ScopedCall) async throws -> Response)
        case page(Page)
    }

    let method: HTTPRequest.Method
    /// Such as `/v1/apps/{bundleId}`. Braces match one non-empty part.
    let template: String
    /// Whether the path's app must exist, because the path leads below it.
    let needsApp: Bool
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
        needsApp = template.contains("{bundleId}/")
    }

    var isPage: Bool { if case .page = action { true } else { false } }
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

/// Finds the route of a request. GET routes also match HEAD.
struct RouteTable: Sendable {
    struct Match: Sendable {
        let route: Route
        /// The values of the template's parameters. A scan of few pairs is faster than hashing.
        var parameters: [(name: String, value: String)] = []

        subscript(name: String) -> String? { parameters.first { $0.name == name }?.value }
    }

    private struct Resource: Sendable {
        enum Part: Sendable, Hashable {
            case word(UTF8Text)
            case parameter(String)

            init(_ text: Substring) {
                self =
                    text.hasPrefix("{")
                    ? .parameter(String(text.dropFirst().dropLast())) : .word(UTF8Text(String(text)))
            }
        }

        let parts: [Part]
        var routes: [HTTPRequest.Method: Route]

        var allowed: String {
            (routes.keys + (routes[.get] == nil ? [] : [.head])).map(\.rawValue).sorted().joined(separator: ", ")
        }
    }

    private var resources: [Resource] = []

    init(_ routes: [Route]) {
        for route in routes {
            let parts = route.template.split(separator: "/").map(Resource.Part.init)
            if let index = resources.firstIndex(where: { $0.parts == parts }) {
                resources[index].routes[route.method] = route
            } else {
                resources.append(Resource(parts: parts, routes: [route.method: route]))
            }
        }
    }

    func match(_ method: HTTPRequest.Method, _ parts: [String]) throws -> Match {
        for resource in resources where Self.matches(parts, resource.parts) {
            guard let route = resource.routes[method == .head ? .get : method] else {
                let detail = "This path exists, but not with this method."
                throw Refusal(problem: Problem(.methodNotAllowed, detail), fields: [.allow: resource.allowed])
            }
            var match = Match(route: route)
            for (part, place) in zip(parts, resource.parts) {
                if case .parameter(let name) = place { match.parameters.append((name, part)) }
            }
            return match
        }
        if let page = page(method, parts) { return page }
        throw Problem(.noSuchRoute, "The API does not have this path. /openapi.json lists all paths.")
    }

    /// Redirects a page's path with a trailing slash, and `/` to the documentation.
    private func page(_ method: HTTPRequest.Method, _ parts: [String]) -> Match? {
        guard parts.last == "", [.get, .head].contains(method) else { return nil }
        let parts = parts.count == 1 ? ["docs"] : parts.dropLast()
        guard ["docs", "console"].contains(parts[0]), (try? match(.get, parts)) != nil else { return nil }
        let path = parts.map { "/" + ConsoleLink.encoded($0) }.joined()
        return Match(route: .plain(.get, path, for: .everyone) { _ in .seeOther(path) })
    }

    private static func matches(_ parts: [String], _ template: [Resource.Part]) -> Bool {
        guard parts.count == template.count else { return false }
        // Starts at the end, where templates differ most.
        for index in parts.indices.reversed() {
            switch template[index] {
            case .word(let word): if UTF8Text(parts[index]) != word { return false }
            case .parameter: if parts[index].isEmpty { return false }
            }
        }
        return true
    }
}
