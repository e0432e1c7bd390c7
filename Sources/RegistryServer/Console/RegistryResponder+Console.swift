import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import RegistryCore
import RegistryStore

extension RegistryResponder {
    /// Answers a request for a page of the console. The stages are those of the API, in the same order; only who calls
    /// is found by a cookie.
    func perform(_ page: Route.Page, _ located: Located, _ request: Request, _ context: ConnectionContext) async throws
        -> Answer
    {
        let (route, fields) = (located.match.route, request.headers)
        let visit = try await findVisit(fields, from: context.channel.remoteAddress)
        if route.access != .everyone, visit.principal.role == nil { return .signIn(toward: request.head) }
        let place = try await findPlace(of: located.match, for: visit.principal)
        try route.access.check(visit.principal)
        let standing = try countRequest(of: visit.principal, to: route, fields, from: context.channel.remoteAddress)
        var form = try Query("")
        if route.body == .form {
            try RequestOrigin.check(fields, authority: request.head.authority)
            form = try await bodies.form(request, from: context.channel)
            if route.access != .everyone { try visit.check(form) }
        }
        let call = Call(to: self, located, fields, by: visit.principal)
        let answer = try await page(
            ConsoleCall(call: call, console: console, visit: visit, scope: place.scope, form: form)
        )
        return answer.with(standing).renewing(visit, at: access.clock.date())
    }

    /// Finds out who asks for a page: whose session the cookie names, if the key is still valid.
    ///
    /// - Throws: `unavailable`, `too-many-requests`.
    private func findVisit(_ fields: HTTPFields, from remote: SocketAddress?) async throws -> ConsoleVisit {
        let isSecure = console.isSecure(fields, from: IPAddress(remote))
        guard !access.authenticator.insecureNoAuth else {
            let token = FormToken.make(from: console.insecureNonce)
            return ConsoleVisit(principal: .insecure, isSecure: isSecure, formToken: token)
        }
        for text in ConsoleCookie(purpose: .session, isSecure: isSecure).values(in: fields) {
            guard let claim = ConsoleSession.Claim(text), claim.session.isValid(at: access.clock.date()),
                let key = try await access.keys.validKey(claim.session.keyID, where: { claim.isProved(by: $0.digest) })
            else { continue }
            return ConsoleVisit(
                principal: Principal(key.record),
                session: claim.session,
                digest: key.digest,
                isSecure: isSecure,
                formToken: claim.session.formToken
            )
        }
        return ConsoleVisit(principal: .anonymous, isSecure: isSecure, formToken: nil)
    }
}

extension Answer {
    /// Leads a browser to another page.
    static func seeOther(_ location: String) -> Answer { Answer(status: .seeOther, fields: [.location: location]) }

    /// Leads to the sign-in page, and from there back to what was asked for.
    fileprivate static func signIn(toward head: HTTPRequest) -> Answer {
        let isPage = head.method == .get && head.path != ConsoleLink.home
        return seeOther(ConsoleLink.signIn + ConsoleLink.query([("next", isPage ? head.path : nil)]))
    }

    /// The answer that keeps a session going.
    fileprivate func renewing(_ visit: ConsoleVisit, at now: Date) -> Answer {
        guard let session = visit.session?.renewed(at: now), fields[.setCookie] == nil else { return self }
        return with(session, digest: visit.digest, isSecure: visit.isSecure)
    }

    /// The answer that gives the browser a session.
    func with(_ session: ConsoleSession, digest: [UInt8], isSecure: Bool) -> Answer {
        var answer = self
        let cookie = ConsoleCookie(purpose: .session, isSecure: isSecure)
        answer.fields.append(cookie.setting(session.sealed(by: digest), seconds: Int(ConsoleSession.idleTime)))
        return answer
    }
}
