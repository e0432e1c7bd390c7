import Crypto
import Foundation
import RegistryCore

/// Sign-in to the console with the company's identity provider.
package struct SignInSettings: Sendable {
    struct Rule: Sendable, Hashable {
        let role: Role
        let app: BundleID
        /// The value of the claim that gives the role.
        let value: UTF8Text
    }

    /// Exactly as the provider's discovery document and tokens state it.
    let issuer: String
    let clientID: String
    let clientSecret: Secret
    /// The claim of the ID token that decides about roles.
    let claim: String
    let rules: [Rule]
    /// Not taken from requests, because their `Host` is the caller's choice.
    let publicURL: String
    /// Seals sessions and sign-ins under way: all instances with these settings accept them, and a change ends them.
    let sealingKey: [UInt8]

    /// - Parameters:
    ///   - rules: such as `admin:com.example.food=Push admins`, separated by semicolons.
    ///   - publicURL: the origin at which browsers reach the console.
    /// - Throws: a sentence that names the setting.
    package init(
        issuer: String,
        clientID: String,
        clientSecret: Secret,
        claim: String,
        rules: String,
        publicURL: String
    ) throws(JSONFaultReason) {
        guard issuer.wholeMatch(of: /https:\/\/[!-~]+/) != nil || Self.isLocal(issuer), !issuer.contains(/[?#]/) else {
            throw JSONFaultReason("--oidc-issuer must be an https URL without a query.")
        }
        // The seal of their own cookie would let users guess a short one.
        guard clientSecret.revealed.utf8.count >= 20 else {
            throw JSONFaultReason("--oidc-client-secret must have at least 20 characters.")
        }
        // Elsewhere codes and cookies would travel readably.
        guard let origin = publicURL.wholeMatch(of: /(https?:\/\/[A-Za-z0-9.:\[\]-]+)\/?/)?.1,
            origin.hasPrefix("https:") || Self.isLocal(publicURL)
        else { throw JSONFaultReason("--public-url must be an origin with TLS, such as https://push.example.com.") }
        let texts = rules.split(separator: ";").map { $0.trimmingCharacters(in: .whitespacesAndNewlines) }
        let parsed = texts.filter { !$0.isEmpty }.map(Self.rule)
        // The places of more rules would not fit in a cookie.
        guard (1...200).contains(parsed.count), !parsed.contains(nil) else {
            let example = "admin:com.example.food=Push admins; auditor:com.example.food=Everyone"
            throw JSONFaultReason("--oidc-roles must list 1 to 200 rules such as \(example).")
        }
        (self.issuer, self.clientID, self.clientSecret, self.claim) = (issuer, clientID, clientSecret, claim)
        (self.rules, self.publicURL) = (parsed.compactMap(\.self), String(origin))
        let all = [issuer, clientID, claim, String(origin), "\(parsed)"].joined(separator: "\n")
        sealingKey = Self.code("pushreg console sign-in\n\(all)", Array(clientSecret.revealed.utf8))
    }

    private static func rule(_ text: String) -> Rule? {
        // The value may contain both signs, as the name of a group in a directory does.
        guard let match = text.wholeMatch(of: /(auditor|admin):([^= ]+) *= *(.+)/),
            let role = Role(rawValue: String(match.1)), let app = try? BundleID(String(match.2))
        else { return nil }
        return Rule(role: role, app: app, value: UTF8Text(String(match.3)))
    }

    var redirectURI: String { publicURL + ConsoleLink.callback }
    var providerName: String { URL(string: issuer)?.host ?? issuer }

    /// Whether a URL is of plain HTTP on this machine, for trying things out.
    static func isLocal(_ url: String) -> Bool {
        url.wholeMatch(of: /http:\/\/([^\/@]+)[!-~]*/).map { LoopbackHost.matches(String($0.1)) } ?? false
    }

    static func code(_ text: String, _ key: [UInt8]) -> [UInt8] {
        Array(HMAC<SHA256>.authenticationCode(for: Data(text.utf8), using: SymmetricKey(data: key)))
    }

    /// A person as the holder of a session: their name, and the places of the fulfilled rules. For each app there is one,
    /// of an admin if possible. Nil without any.
    func holder(_ name: String, _ values: [String]) -> String? {
        let values = Set(values.map { UTF8Text($0) })
        let places = rules.indices.filter { values.contains(rules[$0].value) }
        let best = Dictionary(places.map { (rules[$0].app, $0) }) { rules[$1].role == .admin ? $1 : $0 }
        let parts = [Base64URL.encode(Array(name.utf8))] + best.values.sorted().map(String.init)
        return best.isEmpty ? nil : parts.joined(separator: ":")
    }

    /// - Parameter holder: of a session that was sealed with these settings.
    func person(of holder: String) -> (name: UTF8Text, grants: [Rule]) {
        let parts = holder.split(separator: ":")
        let name = String(decoding: Base64URL.decode(parts[0]) ?? Data(), as: UTF8.self)
        return (UTF8Text(name), parts.dropFirst().compactMap { Int($0) }.map { rules[$0] })
    }
}
