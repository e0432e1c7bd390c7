import Foundation
import RegistryCore

/// A sign-in with the identity provider that began in a browser, as the browser's cookie states it.
///
/// The cookie has a random number, the time and the page to return to. State, nonce and PKCE's verifier are message
/// authentication codes of its text. So the state proves the cookie, and every instance can finish the sign-in.
struct SignInAttempt: Sendable {
    let text: String
    private let startedAt: TimeInterval
    /// The page of the console to return to.
    let next: String

    /// The lifetime, in seconds.
    static let longestTime = 600

    init(toward next: String, at now: Date) {
        startedAt = now.timeIntervalSince1970.rounded(.down)
        // A longer path would not fit in a cookie.
        self.next = next.utf8.count <= 2048 ? next : ConsoleLink.home
        text = "\(ConsoleSession.makeNonce()).\(Int64(startedAt)).\(Base64URL.encode(Array(self.next.utf8)))"
    }

    /// A cookie's text, not yet proved.
    init?(_ text: String) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let second = UInt32(parts[1]), let next = Base64URL.decode(parts[2]) else { return nil }
        (self.text, startedAt) = (text, TimeInterval(second))
        self.next = String(decoding: next, as: UTF8.self)
    }

    func isValid(at now: Date) -> Bool {
        // A minute for differing clocks of instances.
        (-60..<TimeInterval(Self.longestTime)).contains(now.timeIntervalSince1970 - startedAt)
    }

    enum Purpose { case state, nonce, verifier }

    /// 43 characters of base64url.
    func code(for purpose: Purpose, _ settings: SignInSettings) -> String {
        Base64URL.encode(SignInSettings.code("\(purpose)\n\(text)", settings.sealingKey))
    }
}
