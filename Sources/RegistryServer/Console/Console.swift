import Foundation
import HTTPTypes
import Logging
import RegistryCore
import RegistryStore

struct Console: Sendable {
    let configuration: ServerConfiguration
    let startedAt = Date()
    let sweeps = SweepJournal()
    let provider: IdentityProvider?
    let logger: Logger
    /// The nonce of form tokens without a sign-in.
    let insecureNonce = ConsoleSession.makeNonce()

    init(configuration: ServerConfiguration, clock: ServiceClock, logger: Logger) {
        self.configuration = configuration
        self.logger = logger
        provider = configuration.signIn.map { IdentityProvider($0, clock: clock, logger: logger) }
    }

    /// Whether the browser uses TLS, to the service or to a trusted proxy.
    func isSecure(_ fields: HTTPFields, from peer: IPAddress?) -> Bool {
        if configuration.tls != nil { return true }
        let addresses = ClientAddress(trustedProxies: configuration.trustedProxies)
        guard let peer, addresses.isTrusted(peer) else { return false }
        // A trusted proxy uses TLS unless its field contradicts.
        return fields[HTTPField.Name("X-Forwarded-Proto")!].map { $0.lowercased() == "https" } ?? true
    }
}

struct ConsoleCall: Sendable {
    let call: Call
    let console: Console
    let visit: ConsoleVisit
    let form: Query

    var registry: Registry { call.registry }
    var principal: Principal { call.principal }
    var now: Date { call.parts.clock.date() }

    var scope: Scope { get throws(Problem) { try call.scope } }
    var link: ConsoleLink { get throws(Problem) { ConsoleLink(try scope) } }

    /// Nil if empty.
    func parameter(_ name: String) -> String? { call.query[name].last.flatMap { $0.isEmpty ? nil : $0 } }

    /// Nil if empty.
    func field(_ name: String) -> String? { form[name].last.flatMap { $0.isEmpty ? nil : $0 } }
    var mayChange: Bool { Access.adminCalls.allows(principal) }
    var isRoot: Bool { principal.role == .root }
}

struct ConsoleVisit: Sendable {
    var principal = Principal.anonymous
    /// The roles of a person, each in an app. A key has none.
    var grants: [SignInSettings.Rule] = []
    var session: ConsoleSession?
    /// The digest that signs the session's next cookie.
    var digest: [UInt8] = []
    let isSecure: Bool
    /// Nil for anonymous callers.
    let formToken: String?

    /// - Throws: `forbidden` for a form from another session.
    func check(_ form: Query) throws(Problem) {
        guard let formToken, let given = form[FormToken.field].last, ConstantTime.areEqual(given, formToken) else {
            throw Problem(.forbidden, "The form is not from this session. Open the page again and repeat it there.")
        }
    }
}

extension RegistryResponder {
    /// Has the stages of the API, with a cookie in place of credentials.
    func servePage(_ page: Route.Page, _ located: RoutedRequest) async throws -> Response {
        let start = ContinuousClock.now
        let visit = try await findVisit(located)
        let (access, head) = (located.route.access, located.request.head)
        if access != .everyone, visit.principal.role == nil { return .signIn(toward: head) }
        let call = try await call(of: visit.principal, to: located)
        var count = try count(call)
        let lookups = ContinuousClock.now - start
        do {
            let form = try await readForm(located, visit)
            try beginHeavyCall(call, &count)
            let consoleCall = ConsoleCall(call: call, console: console, visit: visit, form: form)
            let response = try await registry.spending(lookups) { try await page(consoleCall) }
            return count.finish(response).renewing(visit, at: parts.clock.date())
        } catch {
            count.giveBack()
            throw error
        }
    }

    private func readForm(_ located: RoutedRequest, _ visit: ConsoleVisit) async throws -> Query {
        guard located.route.body == .form else { return try Query("") }
        let refusal = "Another site's page sent this form. Open the console itself and repeat it there."
        try RequestOrigin.check(located.request.head, believesNull: true, refusal)
        let form = try await bodies.form(located)
        if located.route.access != .everyone { try visit.check(form) }
        return form
    }

    /// Identifies the caller by the cookie. A person may have a role in several apps; the role in the path's app counts.
    private func findVisit(_ located: RoutedRequest) async throws -> ConsoleVisit {
        let isSecure = console.isSecure(located.fields, from: located.request.peer)
        guard !parts.authenticator.insecureNoAuth else {
            let token = FormToken.make(from: console.insecureNonce)
            return ConsoleVisit(principal: .insecure, isSecure: isSecure, formToken: token)
        }
        let text = ConsoleCookie(purpose: .session, isSecure: isSecure).value(in: located.fields)
        let anonymous = ConsoleVisit(isSecure: isSecure, formToken: nil)
        guard let claim = text.flatMap(ConsoleSession.Claim.init), claim.session.isValid(at: parts.clock.date())
        else { return anonymous }
        let session = claim.session
        var visit = ConsoleVisit(session: session, isSecure: isSecure, formToken: session.formToken)
        if let key = try await findKey(of: claim, from: located.network) {
            (visit.principal, visit.digest) = (Principal(key.record), key.digest)
        } else if let settings = console.provider?.settings, claim.isProved(by: settings.sealingKey) {
            let (name, grants) = settings.person(of: session.holder)
            let grant = grants.first { $0.app.rawValue == located.bundleID } ?? grants[0]
            (visit.grants, visit.digest) = (grants, settings.sealingKey)
            visit.principal = Principal(role: grant.role, who: name, app: grant.app)
        } else {
            return anonymous
        }
        return visit
    }

    private func findKey(of claim: ConsoleSession.Claim, from network: CallerNetwork?) async throws -> StoredKey? {
        guard let id = try? APIKeyID(claim.session.holder) else { return nil }
        return try await parts.authenticator.findKey(id, from: network) { claim.isProved(by: $0.digest) }
    }
}

extension Response {
    static func seeOther(_ location: String) -> Response { Response(status: .seeOther, fields: [.location: location]) }

    /// Returns to the page after the sign-in, but drops the query, because a search can contain a pasted token.
    fileprivate static func signIn(toward head: HTTPRequest) -> Response {
        let isPage = head.method == .get && head.path != ConsoleLink.home
        let path = head.path?.split(separator: "?", maxSplits: 1).first ?? ""
        let next = path.hasSuffix("/search") ? String(path) : head.path
        return seeOther(ConsoleLink.signIn + ConsoleLink.query([("next", isPage ? next : nil)]))
    }

    fileprivate func renewing(_ visit: ConsoleVisit, at now: Date) -> Response {
        guard let session = visit.session?.renewed(at: now), fields[.setCookie] == nil else { return self }
        return with(session, digest: visit.digest, isSecure: visit.isSecure)
    }

    func with(_ session: ConsoleSession, digest: [UInt8], isSecure: Bool) -> Response {
        var response = self
        let cookie = ConsoleCookie(purpose: .session, isSecure: isSecure)
        response.fields.append(cookie.setting(session.sealed(by: digest), seconds: Int(ConsoleSession.idleTime)))
        return response
    }
}
