import Foundation
import HTTPTypes
import RegistryCore
import RegistryStore

extension RegistryResponder {
    /// Has the stages of the API, with a cookie in place of credentials.
    func servePage(_ page: Route.Page, _ located: RoutedRequest) async throws -> Response {
        let start = ContinuousClock.now
        let visit = try await findVisit(located)
        let (access, head) = (located.route.access, located.request.head)
        if access != .everyone, visit.principal.role == nil { return .signIn(toward: head) }
        let admission = try await admission(of: visit.principal, to: located)
        var count = try count(admission)
        let lookups = ContinuousClock.now - start
        do {
            let form = try await readForm(located, visit)
            try beginHeavyCall(admission, &count)
            let (call, scope) = (Call(admission, parts), admission.scope)
            let consoleCall = ConsoleCall(call: call, console: console, visit: visit, namedScope: scope, form: form)
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
