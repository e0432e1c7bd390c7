import Crypto
import Foundation
import HTTPTypes
import RegistryCore

/// A signed-in session, stored in a cookie.
///
/// The cookie contains the key's id and a message authentication code, keyed with the stored digest of the key's
/// secret. All instances can check it without state, and it ends with the key's revocation or expiry. A person's cookie
/// contains their roles, and the settings of the sign-in seal it.
struct ConsoleSession: Sendable, Hashable {
    /// The key's id, or a person of ``SignInSettings``.
    let holder: String
    let signedInAt: Date
    /// The last page, accurate to about a minute.
    let seenAt: Date
    /// Random and known only to the browser. Form tokens derive from it.
    let nonce: String

    /// Without requests.
    static let idleTime: TimeInterval = 30 * 60
    static let longestTime: TimeInterval = 8 * 3600
    /// The age of `seenAt` at which the cookie is renewed.
    static let renewalInterval: TimeInterval = 60

    init(of holder: String, at now: Date, signedInAt: Date? = nil, nonce: String = makeNonce()) {
        self.holder = holder
        seenAt = Date(timeIntervalSince1970: now.timeIntervalSince1970.rounded(.down))
        self.signedInAt = signedInAt ?? seenAt
        self.nonce = nonce
    }

    /// Other sites' pages cannot read it.
    var formToken: String { FormToken.make(from: nonce) }

    func isValid(at now: Date) -> Bool {
        // Allows a minute of clock difference between instances.
        seenAt.timeIntervalSince(now) < 60 && now.timeIntervalSince(seenAt) < Self.idleTime
            && now.timeIntervalSince(signedInAt) < Self.longestTime
    }

    func renewed(at now: Date) -> ConsoleSession? {
        guard now.timeIntervalSince(seenAt) >= Self.renewalInterval else { return nil }
        return ConsoleSession(of: holder, at: now, signedInAt: signedInAt, nonce: nonce)
    }
}

extension ConsoleSession {
    /// A parsed cookie without a verified code.
    struct Claim: Sendable {
        let session: ConsoleSession
        fileprivate let code: String

        init?(_ text: String) {
            let parts = text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
            guard parts.count == 6, parts[0] == ConsoleSession.version,
                let signedInAt = Self.time(parts[2]), let seenAt = Self.time(parts[3]), signedInAt <= seenAt
            else { return nil }
            session = ConsoleSession(of: parts[1], at: seenAt, signedInAt: signedInAt, nonce: parts[4])
            code = parts[5]
        }

        private static func time(_ text: String) -> Date? {
            UInt32(text).map { Date(timeIntervalSince1970: TimeInterval($0)) }
        }

        func isProved(by digest: [UInt8]) -> Bool { ConstantTime.areEqual(code, session.code(digest)) }
    }

    private static let version = "1"

    private var claim: String {
        [
            Self.version, holder, String(Int64(signedInAt.timeIntervalSince1970)),
            String(Int64(seenAt.timeIntervalSince1970)), nonce,
        ].joined(separator: ".")
    }

    /// - Parameter digest: The stored SHA-256 of the key's secret.
    func sealed(by digest: [UInt8]) -> String { "\(claim).\(code(digest))" }

    private func code(_ digest: [UInt8]) -> String {
        Hexadecimal.encode(SignInSettings.code("pushreg console session\n\(claim)", digest))
    }

    /// 128 random bits in hex.
    static func makeNonce() -> String { Hexadecimal.encode((0..<16).map { _ in UInt8.random(in: .min ... .max) }) }
}

/// A form field that proves that a page of the console sent the form.
enum FormToken {
    static let field = "form"

    static func make(from nonce: String) -> String {
        Hexadecimal.encode(Array(SHA256.hash(data: Data("pushreg console form\n\(nonce)".utf8))))
    }
}

/// A cookie that scripts cannot read and other sites' pages do not send.
struct ConsoleCookie: Sendable, Hashable {
    enum Purpose: String, Sendable {
        case session = "pushreg-console"
        /// Ties the sign-in form to its browser.
        case signIn = "pushreg-sign-in"
        /// Ties a sign-in with the identity provider to its browser, which sends it on the way back from there, too.
        case attempt = "pushreg-provider"
    }

    let purpose: Purpose
    /// Adds a prefix to the name, so that other hosts and plain HTTP cannot set the cookie over TLS.
    let isSecure: Bool

    var name: String { (isSecure ? "__Host-" : "") + purpose.rawValue }

    /// The first value. Browsers send the best match first, and only other clients send several.
    func value(in fields: HTTPFields) -> String? {
        let start = Array("\(name)=".utf8)
        for field in fields[values: .cookie] {
            // Compares bytes, because comparing characters is far slower and a request can have many cookies.
            for pair in field.utf8.split(separator: UInt8(ascii: ";")) {
                let pair = pair.drop { $0 == UInt8(ascii: " ") }
                if pair.starts(with: start) { return String(Substring(pair.dropFirst(start.count))) }
            }
        }
        return nil
    }

    /// Expires with the browser's session or after `seconds`.
    func setting(_ value: String, seconds: Int) -> HTTPField {
        HTTPField(
            name: .setCookie,
            value:
                "\(name)=\(value); Path=\(isSecure ? "/" : "/console"); Max-Age=\(seconds); HttpOnly; "
                + "SameSite=\(purpose == .attempt ? "Lax" : "Strict")" + (isSecure ? "; Secure" : "")
        )
    }

    var removal: HTTPField { setting("", seconds: 0) }
}
