import HTTPTypes
import RegistryCore
import RegistryStore

/// A permitted request, before its body is read. A class because it is large and passed on often.
final class Admission: Sendable {
    let located: RoutedRequest
    let principal: Principal
    /// Nil if the route does not need it.
    let app: App?
    let environment: APNSEnvironment?

    init(_ located: RoutedRequest, _ principal: Principal, _ app: App?, _ environment: APNSEnvironment?) {
        (self.located, self.principal, self.app, self.environment) = (located, principal, app, environment)
    }

    var route: Route { located.route }

    var scope: Scope? {
        guard let app, let environment else { return nil }
        return Scope(app: app, environment: environment)
    }
}

extension RegistryResponder {
    /// Decides whether a caller may make a request, without waiting. A nil `app` is looked up in the cache. Nil if it
    /// is needed and not cached.
    ///
    /// Rejects an app outside of the credentials before looking it up, so the time does not reveal whether it exists.
    func admit(
        _ principal: Principal,
        to located: RoutedRequest,
        about app: App? = nil
    ) throws(Problem) -> Admission? {
        let (parameters, access) = (located.match.parameters, located.route.access)
        try access.checkCredentials(of: principal)
        var (app, environment) = (app, APNSEnvironment?.none)
        if let name = parameters["bundleId"] {
            if let own = principal.app, own.rawValue != name { throw Problem.unknownApp }
            if located.route.needsApp {
                if let name = parameters["environment"] {
                    environment = APNSEnvironment(rawValue: name)
                    guard environment != nil else { throw Problem.unknownApp }
                }
                guard let bundleID = try? BundleID(name) else { throw Problem.unknownApp }
                app = app ?? parts.apps.known(bundleID)
                guard app != nil else { return nil }
            }
        }
        try access.check(principal)
        return Admission(located, principal, app, environment)
    }

    /// Like ``admit``, but looks up an app that is not cached.
    func admission(of principal: Principal, to located: RoutedRequest) async throws -> Admission {
        if let admission = try admit(principal, to: located) { return admission }
        guard let app = try await parts.apps.app(BundleID(located.bundleID ?? "")),
            let admission = try admit(principal, to: located, about: app)
        else { throw Problem.unknownApp }
        return admission
    }
}

extension RegistryResponder {
    /// Probes are exempt. Sign-ins to the console count by network.
    func count(_ admission: Admission) throws(RateLimited) -> RequestCount {
        guard admission.isCounted else { return RequestCount() }
        return try rateLimits.count(admission.principal, admission.caller)
    }

    /// Call it after the body arrived, so that slow senders occupy no slot.
    func beginHeavyCall(_ admission: Admission, _ count: inout RequestCount) throws(RateLimited) {
        guard admission.isCounted, admission.located.isHeavy else { return }
        let parameters = admission.located.match.parameters
        let place = "\(parameters["bundleId"] ?? "")/\(parameters["environment"] ?? "")"
        count.heavyCall = try heavyCalls.countCall(admission.principal, admission.caller, in: place)
    }
}

extension Admission {
    fileprivate var isCounted: Bool {
        route.access != .everyone || route.body == .form || route.template == ConsoleLink.callback
    }

    fileprivate var caller: Caller {
        var caller = Caller(network: located.network)
        guard located.isHeavy || principal.isPublishableKey,
            let name = located.match.parameters["installationId"] ?? located.fields[.installationID],
            name.utf8.count <= Caller.longestInstallation
        else { return caller }
        caller.installation = Array(name.utf8)
        return caller
    }
}
