import HTTPTypes
import RegistryCore

/// Finds the route of a request. GET routes also match HEAD.
struct RouteTable: Sendable {
    struct Match: Sendable {
        let route: Route
        let parameters: PathParameters
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

        var allowed: [HTTPRequest.Method] {
            (routes.keys + (routes[.get] == nil ? [] : [.head])).sorted { $0.rawValue < $1.rawValue }
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
                throw MethodNotAllowed(allowed: resource.allowed)
            }
            return Match(route: route, parameters: Self.parameters(of: parts, in: resource.parts))
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
        return Match(
            route: .plain(.get, path, for: .everyone) { _ in .seeOther(path) },
            parameters: PathParameters()
        )
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

    private static func parameters(of parts: [String], in template: [Resource.Part]) -> PathParameters {
        var parameters = PathParameters()
        for (part, place) in zip(parts, template) {
            if case .parameter(let name) = place { parameters.append(name, part) }
        }
        return parameters
    }
}

struct MethodNotAllowed: Error, Hashable {
    let allowed: [HTTPRequest.Method]
}

/// The values of a template's parameters. A scan of few pairs is faster than hashing.
struct PathParameters: Sendable {
    private var pairs: [(name: String, value: String)] = []

    subscript(name: String) -> String? { pairs.first { $0.name == name }?.value }

    mutating func append(_ name: String, _ value: String) { pairs.append((name, value)) }
}
