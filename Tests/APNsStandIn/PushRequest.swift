import Crypto
import Foundation
import RegistryCore

/// A request to APNs, independent of its transport.
package struct PushRequest: Sendable {
    package let method: String
    package let path: String
    /// Header fields by lower-case name.
    package let fields: [String: String]
    package let body: Data

    package init(method: String = "POST", path: String, fields: [String: String], body: Data) {
        self.method = method
        self.path = path
        self.fields = fields
        self.body = body
    }

    /// The token in hex; nil for another path.
    var token: String? { path.hasPrefix("/3/device/") ? String(path.dropFirst("/3/device/".count)).lowercased() : nil }

    /// The payload's member `aps`, a JSON object.
    var aps: JSONValue? { if let aps = try? JSONParser.parse(body)["aps"], case .object = aps { aps } else { nil } }
    var priority: Int { fields["apns-priority"].flatMap { Int($0) } ?? 10 }

    /// APNs stores a push for an offline phone until then: 0 means not at all, no field about a month.
    var expiration: Date {
        guard let seconds = fields["apns-expiration"].flatMap({ Double($0) }) else { return .distantFuture }
        return Date(timeIntervalSince1970: seconds)
    }
}

package struct PushResponse: Sendable, Equatable {
    package let status: Int
    package let reason: String?
    /// The time of death in a 410 response.
    package let deadAt: Date?

    package init(_ status: Int, _ reason: String? = nil, deadAt: Date? = nil) {
        self.status = status
        self.reason = reason
        self.deadAt = deadAt
    }

    /// In milliseconds, as in a 410 response's body.
    package var timestamp: Int? { deadAt.map { Int(($0.timeIntervalSince1970 * 1000).rounded(.down)) } }

    var body: String {
        guard let reason else { return "" }
        return #"{"reason":"\#(reason)""# + (timestamp.map { #","timestamp":\#($0)}"# } ?? "}")
    }
}

/// A team's key for token-based authentication, new for each test.
package struct ProviderKey: Sendable {
    package let keyID = "ABC123DEFG"
    package let teamID = "TEAM123456"
    private let key = P256.Signing.PrivateKey()

    package init() {}

    package var pem: String { key.pemRepresentation }

    package func token(issuedAt: Date) throws -> String {
        let header = #"{"alg":"ES256","kid":"\#(keyID)"}"#
        let claims = #"{"iss":"\#(teamID)","iat":\#(Int(issuedAt.timeIntervalSince1970))}"#
        let signed = [header, claims].map { Base64URL.encode(Array($0.utf8)) }.joined(separator: ".")
        let signature = try key.signature(for: Data(signed.utf8))
        return signed + "." + Base64URL.encode(Array(signature.rawRepresentation))
    }

    /// The `iat` of a JWT; nil if this key did not sign it.
    func issueTime(of token: String) -> Date? {
        let parts = token.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let header = Self.object(parts[0]), let claims = Self.object(parts[1]),
            header["alg"] == "ES256", header["kid"] == .string(keyID), claims["iss"] == .string(teamID),
            let issuedAt = claims["iat"]?.integer,
            let bytes = Base64URL.decode(parts[2]),
            let signature = try? P256.Signing.ECDSASignature(rawRepresentation: bytes),
            key.publicKey.isValidSignature(signature, for: Data("\(parts[0]).\(parts[1])".utf8))
        else { return nil }
        return Date(timeIntervalSince1970: Double(issuedAt))
    }

    private static func object(_ part: Substring) -> JSONValue? {
        Base64URL.decode(part).flatMap { try? JSONParser.parse($0) }
    }
}

extension JSONValue { var integer: Int? { if case .integer(let value) = self { Int(value) } else { nil } } }

/// The JWTs of one key that APNs has received, and the rules for them.
package struct ProviderTokens: Sendable {
    /// A valid JWT and its `iat`.
    package struct Seen: Sendable, Equatable {
        package let token: String
        package let issuedAt: Date
        package let isAccepted: Bool
    }

    static let lifetime: TimeInterval = 60 * 60
    /// Apple: refresh the token no more than once every 20 minutes.
    static let shortestInterval: TimeInterval = 20 * 60
    let key: ProviderKey
    package private(set) var seen: [Seen] = []
    private var acceptedAt = Date.distantPast

    init(key: ProviderKey) { self.key = key }

    /// The refusal of a request with this `authorization`; nil if it is valid.
    mutating func refusal(of authorization: String?, at now: Date) -> PushResponse? {
        guard let authorization, authorization.lowercased().hasPrefix("bearer ") else {
            return PushResponse(403, "MissingProviderToken")
        }
        let token = String(authorization.dropFirst("bearer ".count))
        guard let issuedAt = key.issueTime(of: token), issuedAt <= now.addingTimeInterval(60) else {
            return PushResponse(403, "InvalidProviderToken")
        }
        guard now.timeIntervalSince(issuedAt) <= Self.lifetime else { return PushResponse(403, "ExpiredProviderToken") }
        return isUpdateTooEarly(token, issuedAt, now) ? PushResponse(429, "TooManyProviderTokenUpdates") : nil
    }

    private mutating func isUpdateTooEarly(_ token: String, _ issuedAt: Date, _ now: Date) -> Bool {
        if let known = seen.first(where: { $0.token == token }) { return !known.isAccepted }
        let isAccepted = now.timeIntervalSince(acceptedAt) >= Self.shortestInterval
        seen.append(Seen(token: token, issuedAt: issuedAt, isAccepted: isAccepted))
        if isAccepted { acceptedAt = now }
        return !isAccepted
    }
}
