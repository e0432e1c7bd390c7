import HTTPTypes

/// A cookie of the console, which no script can read and no other site's page can have sent.
struct ConsoleCookie: Sendable, Hashable {
    enum Purpose: String, Sendable {
        case session = "pushreg-console"
        /// Ties the form of the sign-in page to the browser that it was shown to.
        case signIn = "pushreg-sign-in"
    }

    let purpose: Purpose
    /// Whether the browser speaks TLS: then the name has the prefix by which it lets no other host and no plain page
    /// set it.
    let isSecure: Bool

    var name: String { (isSecure ? "__Host-" : "") + purpose.rawValue }

    /// The value under which a request carries it: the first, for a browser names the one first that fits best, and a
    /// client that sends many has none of ours to show.
    func value(in fields: HTTPFields) -> String? {
        let start = Array("\(name)=".utf8)
        for field in fields[values: .cookie] {
            // Bytes, for characters cost far more to be told apart, and a request may carry many.
            for pair in field.utf8.split(separator: UInt8(ascii: ";")) {
                let pair = pair.drop { $0 == UInt8(ascii: " ") }
                if pair.starts(with: start) { return String(Substring(pair.dropFirst(start.count))) }
            }
        }
        return nil
    }

    /// The field that sets it; it goes with the browser, or after its time.
    func setting(_ value: String, seconds: Int) -> HTTPField {
        HTTPField(
            name: .setCookie,
            value:
                "\(name)=\(value); Path=\(isSecure ? "/" : "/console"); Max-Age=\(seconds); HttpOnly; SameSite=Strict"
                + (isSecure ? "; Secure" : "")
        )
    }

    /// The field that takes it away.
    var removal: HTTPField { setting("", seconds: 0) }
}
