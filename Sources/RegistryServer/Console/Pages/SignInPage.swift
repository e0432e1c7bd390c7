import Foundation
import HTTPTypes
import RegistryCore
import RegistryStore

extension ConsoleCall {
    private static let access = Access.auditReads

    private var signInCookie: ConsoleCookie { ConsoleCookie(purpose: .signIn, isSecure: visit.isSecure) }

    /// The lifetime of the form in seconds.
    private static let formTime = 3600
    static let tooLate = "The page was open for too long, or cookies are off. Try again."

    func showSignIn() -> Response {
        guard visit.principal.role == nil else { return .seeOther(ConsoleLink.home) }
        return signInPage(next: parameter("next"))
    }

    /// A cookie ties the form to the browser before a session exists, so that another site cannot sign a user in to its
    /// own account.
    func signInPage(next: String?, fault: String? = nil, status: HTTPResponse.Status = .ok) -> Response {
        let nonce = ConsoleSession.makeNonce()
        var response = Response.page(
            "sign-in",
            [
                "pageTitle": "Sign in", "heading": "Sign in", "formToken": FormToken.make(from: nonce),
                "next": next.flatMap { ConsoleLink.isOwn($0) ? $0 : nil }, "fault": fault,
                "provider": console.provider?.settings.providerName,
            ],
            status: status
        )
        response.fields.append(signInCookie.setting(nonce, seconds: Self.formTime))
        return response
    }

    func signIn() async throws -> Response {
        let next = field("next")
        guard hasSignInCookie else { return signInPage(next: next, fault: Self.tooLate, status: .forbidden) }
        guard let key = APIKey(Secret((field("key") ?? "").trimmingCharacters(in: .whitespacesAndNewlines))) else {
            let fault = "This is not a complete key: keys have 47 characters and begin with pra_, pru_ or prr_."
            return signInPage(next: next, fault: fault, status: .unauthorized)
        }
        let digest = key.secretDigest
        let found = try await call.parts.authenticator.findKey(key.id, from: call.network) { stored in
            ConstantTime.areEqual(stored.digest, digest)
        }
        guard let record = found?.record else {
            let fault = "The key is not valid: it is unknown, was revoked, or has expired."
            return signInPage(next: next, fault: fault, status: .unauthorized)
        }
        guard Self.access.allows(Principal(record)) else {
            let fault = "This is a \(record.id.role.rawValue) key. The console needs an auditor or admin key."
            return signInPage(next: next, fault: fault, status: .forbidden)
        }
        let session = ConsoleSession(of: record.id.rawValue, at: now)
        let path = next.flatMap { ConsoleLink.isOwn($0) ? $0 : nil } ?? ConsoleLink.home
        var response = Response.seeOther(path).with(session, digest: digest, isSecure: visit.isSecure)
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
}
