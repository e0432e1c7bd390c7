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

    enum Step: Sendable {
        case admitted(Admission)
        /// The app is not cached.
        case needsApp(BundleID)
    }

    let located: RegistryResponder.RoutedRequest
    let fields: HTTPFields
    let principal: Principal
    let place: Place
    let network: CallerNetwork?

    var route: Route { located.match.route }

    func call(
        _ parts: ServiceParts,
        body: ReceivedBody? = nil,
        lines: BodyLines? = nil,
        on executor: any TaskExecutor
    ) -> Call {
        Call(
            parts,
            principal: principal,
            parameters: located.match.parameters,
            query: located.target.query,
            fields: fields,
            network: network,
            wantsLines: located.wantsLines,
            body: body,
            lines: lines,
            executor: executor
        )
    }
}

extension RegistryResponder {
    /// Decides whether a caller may make a request, without waiting. A nil `app` is looked up in the cache.
    ///
    /// Rejects an app outside of the credentials before looking it up, so the time does not reveal whether it exists.
    func admit(
        _ principal: Principal,
        to located: RoutedRequest,
        _ fields: HTTPFields,
        about app: App? = nil,
        from network: CallerNetwork?
    ) throws(Problem) -> Admission.Step {
        let (match, access) = (located.match, located.match.route.access)
        try access.checkCredentials(of: principal)
        var place = Admission.Place.none
        if let name = match.parameters["bundleId"] {
            if let own = principal.app, own.rawValue != name { throw Problem.unknownApp }
            if let subject = try match.subject {
                guard let bundleID = try? BundleID(name) else { throw Problem.unknownApp }
                guard let app = app ?? self.access.apps.known(bundleID) else { return .needsApp(bundleID) }
                place = subject(app)
            }
        }
        try access.check(principal)
        return .admitted(
            Admission(located: located, fields: fields, principal: principal, place: place, network: network)
        )
    }

    /// Like ``admit``, but looks up an app that is not cached.
    func admission(
        of principal: Principal,
        to located: RoutedRequest,
        _ fields: HTTPFields,
        from network: CallerNetwork?
    ) async throws -> Admission {
        var app: App?
        while true {
            switch try admit(principal, to: located, fields, about: app, from: network) {
            case .admitted(let admission): return admission
            case .needsApp(let bundleID):
                app = try await access.apps.app(bundleID)
                if app == nil { throw Problem.unknownApp }
            }
        }
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
