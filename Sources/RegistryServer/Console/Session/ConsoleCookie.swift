import HTTPTypes

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
