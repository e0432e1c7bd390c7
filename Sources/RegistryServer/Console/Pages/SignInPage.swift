import Foundation
import HTTPTypes
import Logging
import RegistryCore
import RegistryStore

extension ConsoleCall {
    private var signInCookie: ConsoleCookie { ConsoleCookie(purpose: .signIn, isSecure: visit.isSecure) }

    static let tooLate = "The page was open for too long, or cookies are off. Try again."

    func showSignIn() -> Response {
        guard visit.principal.role == nil else { return .seeOther(ConsoleLink.home) }
        return signInPage()
    }

    /// The page to return to.
    private var next: String? { (field("next") ?? parameter("next")).flatMap { ConsoleLink.isOwn($0) ? $0 : nil } }

    /// A cookie ties the form to the browser, so that another site cannot sign a user in to its own account.
    func signInPage(fault: String? = nil, status: HTTPResponse.Status = .ok) -> Response {
        let nonce = ConsoleSession.makeNonce()
        var response = Response.page(
            "sign-in",
            [
                "pageTitle": "Sign in", "heading": "Sign in", "formToken": FormToken.make(from: nonce),
                "next": next, "fault": fault, "provider": parts.provider?.settings.providerName,
            ],
            status: status
        )
        response.fields.append(signInCookie.setting(nonce, seconds: 3600))
        return response
    }

    func signIn() async throws -> Response {
        guard hasSignInCookie else { return signInPage(fault: Self.tooLate, status: .forbidden) }
        guard let key = APIKey(Secret((field("key") ?? "").trimmingCharacters(in: .whitespacesAndNewlines))) else {
            let fault = "This is not a complete key: keys have 47 characters and begin with pra_, pru_ or prr_."
            return signInPage(fault: fault, status: .unauthorized)
        }
        let digest = key.secretDigest
        let record = try await parts.authenticator.findKey(key.id, from: call.network) { stored in
            ConstantTime.areEqual(stored.digest, digest)
        }
        guard let record else {
            let fault = "The key is not valid: it is unknown, was revoked, or has expired."
            return signInPage(fault: fault, status: .unauthorized)
        }
        guard Access.auditReads.allows(Principal(record)) else {
            let fault = "This is a \(record.id.role.rawValue) key. The console needs an auditor or admin key."
            return signInPage(fault: fault, status: .forbidden)
        }
        let session = ConsoleSession(of: record.id.rawValue, at: now)
        var response = Response.seeOther(next ?? ConsoleLink.home)
            .with(session, digest: digest, isSecure: visit.isSecure)
        response.fields.append(signInCookie.removal)
        return response
    }

    var hasSignInCookie: Bool {
        guard let given = field(FormToken.field), let nonce = signInCookie.value(in: call.fields) else { return false }
        return ConstantTime.areEqual(given, FormToken.make(from: nonce))
    }

    func signOut() throws -> Response {
        if visit.session != nil { try visit.check(form) }
        var response = Response.seeOther(ConsoleLink.signIn)
        response.fields.append(ConsoleCookie(purpose: .session, isSecure: visit.isSecure).removal)
        return response
    }

    func showAsset() throws -> Response {
        try ConsoleTemplates.assets.response(call.parameter("name"), version: call.parameter("version"))
    }

    private var attemptCookie: ConsoleCookie { ConsoleCookie(purpose: .attempt, isSecure: visit.isSecure) }

    func beginSignIn() async throws -> Response {
        guard let provider = parts.provider else { throw Problem(.noSuchRoute, "There is no identity provider.") }
        guard hasSignInCookie else { return signInPage(fault: Self.tooLate, status: .forbidden) }
        let attempt = SignInAttempt(toward: next ?? ConsoleLink.home, at: now)
        do throws(Problem) {
            let address = try await provider.address(for: attempt)
            var answer = Response.onward(to: address, "Going to \(provider.settings.providerName)")
            answer.fields.append(attemptCookie.setting(attempt.text, seconds: SignInAttempt.longestTime))
            return answer
        } catch { return signInPage(fault: error) }
    }

    /// Takes the identity provider's answer, which is good for one try.
    func finishSignIn() async throws -> Response {
        guard let provider = parts.provider else { throw Problem(.noSuchRoute, "There is no identity provider.") }
        var answer: Response
        do throws(Problem) {
            let attempt = try provedAttempt(provider.settings)
            let session = ConsoleSession(of: try await provider.holder(in: call.query, of: attempt), at: now)
            answer = Response.onward(to: attempt.next, "Signed in")
                .with(session, digest: provider.settings.sealingKey, isSecure: visit.isSecure)
        } catch { answer = signInPage(fault: error) }
        answer.fields.append(attemptCookie.removal)
        return answer
    }

    private func provedAttempt(_ settings: SignInSettings) throws(Problem) -> SignInAttempt {
        let attempt = attemptCookie.value(in: call.fields).flatMap(SignInAttempt.init)
        if let attempt, attempt.isValid(at: now), let state = call.query["state"].last,
            ConstantTime.areEqual(state, attempt.code(for: .state, settings))
        {
            return attempt
        }
        let fault = "This sign-in did not begin in this browser, or took over ten minutes."
        throw Problem(.forbidden, "\(fault) Open \(settings.publicURL)/console and begin there.")
    }

    private func signInPage(fault: Problem) -> Response {
        let words = (fault.code == .unauthenticated ? "The provider's ID token is refused. " : "") + fault.detail
        parts.logger.notice("nobody was signed in to the console", metadata: ["reason": "\(words)"])
        return signInPage(fault: words, status: HTTPResponse.Status(code: fault.code.status))
    }
}

extension Response {
    /// A page that leads on at once. After a form, browsers hold a redirection to the page's `form-action`; on the way from
    /// another site they leave out cookies that are `SameSite=Strict`.
    fileprivate static func onward(to address: String, _ heading: String) -> Response {
        var answer = page("onward", ["pageTitle": heading, "heading": heading, "address": address])
        answer.fields[HTTPField.Name("Refresh")!] = "0; url=\(address)"
        return answer
    }
}
