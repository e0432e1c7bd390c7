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

    /// The values under which a request carries it.
    func values(in fields: HTTPFields) -> [String] {
        let pairs = fields[values: .cookie].flatMap { $0.split(separator: ";") }
        return pairs.compactMap { pair in
            let halves = pair.drop { $0 == " " }.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            return halves.count == 2 && halves[0] == name ? String(halves[1]) : nil
        }
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
