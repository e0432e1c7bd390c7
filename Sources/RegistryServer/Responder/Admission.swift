import HTTPTypes
import RegistryCore
import RegistryStore

/// A permitted request, before its body is read.
struct Admission: Sendable {
    enum Place: Sendable {
        case none
        case app(App)
        case scope(Scope)

        var scope: Scope? {
            guard case .scope(let scope) = self else { return nil }
            return scope
        }
    }

    let located: RegistryResponder.RoutedRequest
    let fields: HTTPFields
    let principal: Principal
    let place: Place
    let network: CallerNetwork?

    var route: Route { located.match.route }
}

extension RegistryResponder {
    /// Decides whether a caller may make a request, without waiting. A nil `app` is looked up in the cache. Nil if it
    /// is needed and not cached.
    ///
    /// Rejects an app outside of the credentials before looking it up, so the time does not reveal whether it exists.
    func admit(
        _ principal: Principal,
        to located: RoutedRequest,
        _ fields: HTTPFields,
        about app: App? = nil,
        from network: CallerNetwork?
    ) throws(Problem) -> Admission? {
        let (match, access) = (located.match, located.match.route.access)
        try access.checkCredentials(of: principal)
        var place = Admission.Place.none
        if let name = match.parameters["bundleId"] {
            if let own = principal.app, own.rawValue != name { throw Problem.unknownApp }
            if let subject = try match.subject {
                guard let bundleID = try? BundleID(name) else { throw Problem.unknownApp }
                guard let app = app ?? self.access.apps.known(bundleID) else { return nil }
                place = subject(app)
            }
        }
        try access.check(principal)
        return Admission(located: located, fields: fields, principal: principal, place: place, network: network)
    }

    /// Like ``admit``, but looks up an app that is not cached.
    func admission(
        of principal: Principal,
        to located: RoutedRequest,
        _ fields: HTTPFields,
        from network: CallerNetwork?
    ) async throws -> Admission {
        if let admission = try admit(principal, to: located, fields, from: network) { return admission }
        let bundleID = try BundleID(located.match.parameters["bundleId"] ?? "")
        guard let app = try await access.apps.app(bundleID),
            let admission = try admit(principal, to: located, fields, about: app, from: network)
        else { throw Problem.unknownApp }
        return admission
    }
}

extension RouteTable.Match {
    fileprivate var subject: ((App) -> Admission.Place)? {
        get throws(Problem) {
            switch route.action {
            case .plain: return nil
            case .app: return { .app($0) }
            case .scoped, .page:
                let name = parameters["environment"]
                guard let environment = name.flatMap(APNSEnvironment.init(rawValue:)) else { throw .unknownApp }
                return { .scope(Scope(app: $0, environment: environment)) }
            }
        }
    }
}

/// The counters held by a request from its admission to its end.
struct RequestCount: Sendable {
    fileprivate var count = RateLimits.Count()
    fileprivate var heavyCall: Permit?

    /// Ends the counts of the request. A heavy call ends only when its response is read, because unread responses stay
    /// in memory.
    func finish(_ response: Response) -> Response {
        var response = response
        if let quota = count.quota { response.fields.add(quota) }
        response.heavyCall = heavyCall
        return response
    }

    func giveBack() { count.giveBack() }
}

extension RegistryResponder {
    /// Probes are exempt. Sign-ins to the console count by network.
    func count(_ admission: Admission) throws(RateLimited) -> RequestCount {
        guard admission.isCounted else { return RequestCount() }
        return RequestCount(count: try rateLimits.count(admission.principal, caller(of: admission)))
    }

    /// Call it after the body arrived, so that slow senders occupy no slot.
    func beginHeavyCall(_ admission: Admission, _ count: inout RequestCount) throws(RateLimited) {
        guard admission.isCounted, admission.located.isHeavy else { return }
        let place = Self.place(of: admission.located.match)
        count.heavyCall = try heavyCalls.countCall(admission.principal, caller(of: admission), in: place)
    }

    private func caller(of admission: Admission) -> Caller {
        var caller = Caller(network: admission.network)
        if admission.located.isHeavy || admission.principal.isPublishableKey {
            caller.installation = Self.installation(of: admission.located.match, admission.fields)
        }
        return caller
    }

    private static func installation(of match: RouteTable.Match, _ fields: HTTPFields) -> [UInt8]? {
        guard let name = match.parameters["installationId"] ?? fields[.installationID] else { return nil }
        return name.utf8.count <= Caller.longestInstallation ? Array(name.utf8) : nil
    }

    private static func place(of match: RouteTable.Match) -> String {
        "\(match.parameters["bundleId"] ?? "")/\(match.parameters["environment"] ?? "")"
    }
}

extension Admission {
    fileprivate var isCounted: Bool {
        route.access != .everyone || route.body == .form || route.template == ConsoleLink.callback
    }
}
