import HTTPTypes
import RegistryCore

extension Route {
    /// The whole of the API. Below `…` there is `/v1/apps/{bundleId}/{environment}`.
    static var all: [Route] {
        activities + installations + TokenKind.ofInstallations.flatMap(tokens) + aliases + audit + others
    }

    private static var activities: [Route] {
        [
            .hot(.put, "…/activities/{activityId}", for: .clientCalls, body: .single) { try $0.register() },
            .scoped(.get, "…/activities/{activityId}", for: .senderCalls) { try await $0.readActivity() },
            .scoped(.delete, "…/activities/{activityId}", for: .clientCalls) { try await $0.end() },
            .scoped(.post, "…/activities", for: .clientCalls, body: .single) { try await $0.registerByAlias() },
            .scoped(.delete, "…/activities", for: .clientCalls) { try await $0.endByAlias() },
        ]
    }

    private static let installation = "…/installations/{installationId}"

    private static var installations: [Route] {
        let startToken = installation + "/start-tokens/{attributesType}"
        return [
            .scoped(.put, installation, for: .clientCalls, body: .single) { try await $0.putInstallation() },
            .scoped(.get, installation, for: .recordReads) { try await $0.readInstallationRecord() },
            .scoped(.delete, installation, for: .clientCalls) { try await $0.logOut() }.heavy,
            .scoped(.put, installation + "/activities", for: .clientCalls, body: .batch) {
                try await $0.applyFullState()
            }.heavy,
            .scoped(.put, startToken, for: .clientCalls, body: .single) { try await $0.registerToken(of: .start) },
            .scoped(.delete, startToken, for: .clientCalls) { try await $0.deleteToken(of: .start) },
            .scoped(.post, startToken + "/release", for: .adminCalls) { try await $0.releaseToken(of: .start) },
        ]
    }

    /// The calls about a kind of token that an installation has one of.
    private static func tokens(of kind: TokenKind) -> [Route] {
        let token = installation + "/\(kind.name)-token"
        return [
            .scoped(.put, token, for: .clientCalls, body: .single) { try await $0.registerToken(of: kind) },
            .scoped(.delete, token, for: .clientCalls) { try await $0.deleteToken(of: kind) },
            .scoped(.post, token + "/release", for: .adminCalls) { try await $0.releaseToken(of: kind) },
            .scoped(.get, "…/aliases/{kind}/{value}/\(kind.name)-tokens", for: .senderCalls) {
                try await $0.listTokens(of: kind)
            },
        ]
    }

    private static var aliases: [Route] {
        let channel = "…/aliases/{kind}/{value}/channel"
        return [
            .hot(
                .get,
                "…/aliases/{kind}/{value}/activities",
                for: .senderCalls,
                asLines: { try await $0.streamActivities() },
                { try $0.listActivities() }
            ).costing(.heavyAsLines),
            .scoped(.delete, "…/aliases/{kind}/{value}/activities", for: .senderCalls) { try await $0.endAll() }.heavy,
            .scoped(.get, "…/aliases/{kind}/{value}/start-tokens", for: .senderCalls) {
                try await $0.listTokens(of: .start)
            },
            .scoped(.put, channel, for: .senderCalls, body: .single) { try await $0.putChannel() },
            .scoped(.get, channel, for: .senderCalls) { try await $0.readChannel() },
            .scoped(.delete, channel, for: .senderCalls) { try await $0.deleteChannel() },
            .hot(.post, "…/resolve", for: .senderCalls, body: .batch) { try $0.resolve() }.heavy,
            .scoped(.post, "…/feedback", for: .senderCalls, body: .batchOrLines) { try await $0.takeFeedback() }.heavy,
            .scoped(.post, "…/activities/{activityId}/release", for: .adminCalls) { try await $0.releaseActivity() },
            .scoped(.post, "…/release", for: .adminCalls) { try await $0.releaseAll() }.heavy,
            .scoped(.post, "…/erasures", for: .adminCalls, body: .single) { try await $0.erase() }.heavy,
        ]
    }

    private static var audit: [Route] {
        [
            .scoped(.get, "…/stats", for: .auditReads) { try await $0.readStatistics() }.heavy,
            .scoped(.get, "…/audit/stale", for: .auditReads) { try await $0.listStaleTokens() }.heavy,
            .scoped(.post, "…/audit/stale/purge", for: .adminCalls, body: .single) {
                try await $0.purgeStaleTokens()
            }.heavy,
            .scoped(.get, "…/audit/events", for: .auditReads) { try await $0.listEvents() }.heavy,
            .scoped(.get, "…/audit/explain", for: .auditReads) { try await $0.explainAlias() }.heavy,
        ]
    }

    private static var others: [Route] {
        [
            .plain(.get, "/v1/apps", for: .appReads) { try await $0.listApps() },
            .plain(.put, "/v1/apps/{bundleId}", for: .appChanges, body: .single) { try await $0.putApp() },
            .plain(.get, "/v1/apps/{bundleId}", for: .appReads) { try await $0.readApp() },
            .plain(.delete, "/v1/apps/{bundleId}", for: .rootCalls) { try await $0.deleteApp() }.heavy,
            .app(.post, "/v1/apps/{bundleId}/keys", for: .keyCalls, body: .single) { try await $0.createKey() },
            .app(.get, "/v1/apps/{bundleId}/keys", for: .keyCalls) { try await $0.listKeys() },
            .app(.delete, "/v1/apps/{bundleId}/keys/{keyId}", for: .keyCalls) { try await $0.revokeKey() },
            .plain(.get, "/livez", for: .everyone) { _ in .livez },
            .plain(.get, "/readyz", for: .everyone) { try await $0.readiness() },
            .plain(.get, "/metrics", for: .operatorReads) { await $0.metrics.answer() },
            .plain(.get, "/openapi.json", for: .everyone) { _ in .openAPI },
        ]
    }
}

/// Finds the route of a request. HEAD is answered wherever GET is.
struct RouteTable: Sendable {
    /// A route and what stands in the places of its braces.
    struct Match: Sendable {
        let route: Route
        let parameters: PathParameters
    }

    /// The routes of one template.
    private struct Resource: Sendable {
        /// A part of a template: a word, or a name for whatever stands there.
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
    /// The methods of hot routes; requests of others are none, whatever they are about.
    private(set) var hotMethods: Set<HTTPRequest.Method> = []

    init(_ routes: [Route]) {
        for route in routes {
            if case .hot = route.action { hotMethods.insert(route.method) }
            let parts = route.template.split(separator: "/").map(Resource.Part.init)
            if let index = resources.firstIndex(where: { $0.parts == parts }) {
                resources[index].routes[route.method] = route
            } else {
                resources.append(Resource(parts: parts, routes: [route.method: route]))
            }
        }
    }

    /// - Throws: `no-such-route`, or `MethodNotAllowed`.
    func match(_ method: HTTPRequest.Method, _ parts: [String]) throws -> Match {
        for resource in resources where Self.matches(parts, resource.parts) {
            guard let route = resource.routes[method == .head ? .get : method] else {
                throw MethodNotAllowed(allowed: resource.allowed)
            }
            return Match(route: route, parameters: Self.parameters(of: parts, in: resource.parts))
        }
        throw Problem(.noSuchRoute, "The API has nothing at this path; /openapi.json lists what there is.")
    }

    private static func matches(_ parts: [String], _ template: [Resource.Part]) -> Bool {
        guard parts.count == template.count else { return false }
        // The words that tell templates apart stand at their ends.
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
