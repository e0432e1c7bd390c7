import Foundation
import HTTPTypes
import Logging
import RegistryCore

extension ConsoleCall {
    private var attemptCookie: ConsoleCookie { ConsoleCookie(purpose: .attempt, isSecure: visit.isSecure) }

    /// Sends the browser to the identity provider.
    func beginSignIn() async throws -> Response {
        guard let provider = console.provider else { throw Problem(.noSuchRoute, "There is no identity provider.") }
        let next = field("next").flatMap { ConsoleLink.isOwn($0) ? $0 : nil }
        guard hasSignInCookie else { return signInPage(next: next, fault: Self.tooLate, status: .forbidden) }
        let attempt = SignInAttempt(toward: next ?? ConsoleLink.home, at: now)
        do throws(Problem) {
            let address = try await provider.address(for: attempt)
            var answer = Response.onward(to: address, "Going to \(provider.settings.providerName)")
            answer.fields.append(attemptCookie.setting(attempt.text, seconds: SignInAttempt.longestTime))
            return answer
        } catch {
            return signInPage(next: next, fault: error)
        }
    }

    /// Takes the identity provider's answer, which is good for one try.
    func finishSignIn() async throws -> Response {
        guard let provider = console.provider else { throw Problem(.noSuchRoute, "There is no identity provider.") }
        var answer: Response
        do throws(Problem) {
            let attempt = try provedAttempt(provider.settings)
            let session = ConsoleSession(of: try await provider.holder(in: call.query, of: attempt), at: now)
            answer = Response.onward(to: attempt.next, "Signed in")
                .with(session, digest: provider.settings.sealingKey, isSecure: visit.isSecure)
        } catch {
            answer = signInPage(next: nil, fault: error)
        }
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

    private func signInPage(next: String?, fault: Problem) -> Response {
        let words = (fault.code == .unauthenticated ? "The provider's ID token is refused. " : "") + fault.detail
        console.logger.notice("nobody was signed in to the console", metadata: ["reason": "\(words)"])
        return signInPage(next: next, fault: words, status: HTTPResponse.Status(code: fault.code.status))
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
