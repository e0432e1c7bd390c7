import Foundation
import RegistryCore

struct JWTRequirements: Sendable {
    enum Source: Sendable {
        case keys(JSONValue)
        case url(String)
    }

    let issuer: String
    let audiences: [String]
    let audienceClaim: String
    let subjectClaim: String
    let source: Source

    /// For clock differences between issuer and service, in seconds.
    static let leeway: TimeInterval = 60

    init?(_ settings: JSONObject?) {
        guard let settings, case .string(let issuer)? = settings["issuer"] else { return nil }
        switch (settings["jwksUrl"], settings["jwks"]) {
        case (.string(let url)?, _): source = .url(url)
        case (_, let keys?): source = .keys(keys)
        default: return nil
        }
        self.issuer = issuer
        audiences = Self.texts(settings["audience"])
        audienceClaim = settings["audienceClaim"]?.string ?? "aud"
        subjectClaim = settings["subjectClaim"]?.string ?? "sub"
    }

    /// Returns the subject and the validity in seconds since 1970. The signature must be verified.
    func subject(of claims: JSONObject, at now: Date) throws(Problem) -> (UTF8Text, validity: Range<TimeInterval>) {
        guard claims["iss"] == .string(issuer) else {
            let others = [issuer + "/", issuer.hasSuffix("/") ? String(issuer.dropLast()) : issuer]
            let isSlash = others.contains { claims["iss"] == .string($0) }
            throw CompactJWT.refusal("Its iss is not the app's issuer\(isSlash ? ": only one ends with a slash" : "").")
        }
        guard let audience = claims[audienceClaim] else { throw CompactJWT.refusal("It has no \(audienceClaim).") }
        let named = Self.texts(audience)
        guard named.contains(where: { name in audiences.contains { UTF8Text($0) == UTF8Text(name) } }) else {
            throw CompactJWT.refusal("Its \(audienceClaim) is not the app's audience.")
        }
        let validity = try validity(of: claims, at: now.timeIntervalSince1970)
        guard case .string(let text)? = claims[subjectClaim], let subject = try? UTF8Text.subject(text) else {
            throw CompactJWT.refusal(
                "Its \(subjectClaim) must be 1 to 128 bytes of text without control characters."
            )
        }
        return (subject, validity)
    }

    private func validity(of claims: JSONObject, at now: TimeInterval) throws(Problem) -> Range<TimeInterval> {
        guard let expiry = Self.seconds(claims["exp"]) else { throw CompactJWT.refusal("Its exp must be a number.") }
        // The year 5138 in seconds, or 1973 in milliseconds.
        guard expiry < 100_000_000_000 else { throw CompactJWT.refusal("Its exp must be in seconds.") }
        guard now < expiry + Self.leeway else { throw CompactJWT.refusal("Its exp is in the past.") }
        let end = expiry + Self.leeway
        guard let start = claims["nbf"] else { return -.infinity..<end }
        guard let start = Self.seconds(start), now >= start - Self.leeway else {
            throw CompactJWT.refusal("Its nbf is in the future.")
        }
        return start - Self.leeway..<end
    }

    private static func seconds(_ value: JSONValue?) -> TimeInterval? {
        switch value {
        case .integer(let seconds): TimeInterval(seconds)
        case .number(let seconds): seconds
        default: nil
        }
    }

    /// One text, or an array of texts only.
    static func texts(_ value: JSONValue?) -> [String] {
        switch value {
        case .string(let text): return [text]
        case .array(let values):
            let texts = values.compactMap(\.string)
            return texts.count == values.count ? texts : []
        default: return []
        }
    }
}
