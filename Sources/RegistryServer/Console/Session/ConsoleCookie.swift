import HTTPTypes

/// A cookie of the console, unreadable for scripts and not sent from other sites' pages.
struct ConsoleCookie: Sendable, Hashable {
    enum Purpose: String, Sendable {
        case session = "pushreg-console"
        /// Ties the sign-in form to its browser.
        case signIn = "pushreg-sign-in"
    }

    let purpose: Purpose
    /// With TLS, the name has a prefix that prevents other hosts and plain pages from setting it.
    let isSecure: Bool

    var name: String { (isSecure ? "__Host-" : "") + purpose.rawValue }

    /// The first value in a request: browsers send the best match first, and a client that sends many has none of ours.
    func value(in fields: HTTPFields) -> String? {
        let start = Array("\(name)=".utf8)
        for field in fields[values: .cookie] {
            // Bytes, because comparing characters costs far more, and a request may have many cookies.
            for pair in field.utf8.split(separator: UInt8(ascii: ";")) {
                let pair = pair.drop { $0 == UInt8(ascii: " ") }
                if pair.starts(with: start) { return String(Substring(pair.dropFirst(start.count))) }
            }
        }
        return nil
    }

    /// It ends with the browser's session, or after its time.
    func setting(_ value: String, seconds: Int) -> HTTPField {
        HTTPField(
            name: .setCookie,
            value:
                "\(name)=\(value); Path=\(isSecure ? "/" : "/console"); Max-Age=\(seconds); HttpOnly; SameSite=Strict"
                + (isSecure ? "; Secure" : "")
        )
    }

    var removal: HTTPField { setting("", seconds: 0) }
}
