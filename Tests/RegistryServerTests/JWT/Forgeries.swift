import Crypto
import CryptoExtras
import Foundation
import RegistryCore
import TestSupport
import Testing

struct Forgery: Sendable, CustomTestStringConvertible {
    let name: String
    let make: @Sendable (TestIssuer, Date) -> String

    init(_ name: String, _ make: @escaping @Sendable (TestIssuer, Date) -> String) {
        (self.name, self.make) = (name, make)
    }

    var testDescription: String { name }
    static let all = shapes + algorithms + confusedKeys + headers + times + names + subjects
}

extension Forgery {
    /// Forgeries that differ in a member of the header; null is a missing member.
    private static func headers(_ member: String, _ values: [JSONValue]) -> [Forgery] {
        values.map { value in
            Forgery("\(member) \(value)") { $0.token(header: JSONObject([(member, value)]), at: $1) }
        }
    }

    /// Forgeries that differ in a claim; null is a missing claim.
    private static func claims(_ claim: String, _ values: [JSONValue]) -> [Forgery] {
        values.map { value in Forgery("\(claim) \(value)") { $0.token(claims: JSONObject([(claim, value)]), at: $1) } }
    }

    private static func stranger(_ header: JSONObject) -> Forgery {
        Forgery("a stranger's key, and \(header)") { TestIssuer.stranger.token(header: header, at: $1) }
    }

    private static func time(_ claim: String, in seconds: Int64) -> Forgery {
        Forgery("\(claim) in \(seconds) s") { issuer, now in
            issuer.token(claims: JSONObject([(claim, .integer(Int64(now.timeIntervalSince1970) + seconds))]), at: now)
        }
    }

    /// A valid token with rearranged parts.
    private static func sewn(_ name: String, _ sew: @escaping @Sendable ([String]) -> String) -> Forgery {
        Forgery(name) { sew($0.token(at: $1).components(separatedBy: ".")) }
    }

    private static let shapes: [Forgery] = [
        Forgery("a word") { _, _ in "nonsense" },
        Forgery("two dots") { _, _ in ".." },
        sewn("no signature") { "\($0[0]).\($0[1])" },
        sewn("an empty signature") { "\($0[0]).\($0[1])." },
        sewn("four parts") { ($0 + [$0[2]]).joined(separator: ".") },
        sewn("five parts, as a JWE has") { ($0 + [$0[2], $0[2]]).joined(separator: ".") },
        sewn("no header") { ".\($0[1]).\($0[2])" },
        sewn("no payload") { "\($0[0])..\($0[2])" },
        sewn("padding") { "\($0[0]).\($0[1]).\($0[2])==" },
        sewn("half a signature") { "\($0[0]).\($0[1]).\($0[2].prefix(43))" },
        sewn("a signature twice") { "\($0[0]).\($0[1]).\($0[2])\($0[2])" },
        sewn("header and payload swapped") { "\($0[1]).\($0[0]).\($0[2])" },
        sewn("another payload under a good signature") { parts in
            "\(parts[0]).\(TestIssuer.base64URL(Data(#"{"sub":"u-2"}"#.utf8))).\(parts[2])"
        },
        Forgery("a header that is an array") { issuer, _ in issuer.signed(.ec, ["alg", "ES256"], ["sub": "u"]) },
        Forgery("a payload that is a text") { issuer, _ in issuer.signed(.ec, ["alg": "ES256", "kid": "ec"], "u-1") },
        Forgery("a payload that is no JSON") { issuer, _ in
            let header = TestIssuer.base64URL(Data(#"{"alg":"ES256","kid":"ec"}"#.utf8))
            return issuer.signed(.ec, "\(header).\(TestIssuer.base64URL(Data("{".utf8)))")
        },
        Forgery("JSON instead of base64url") { _, _ in #"{"alg":"none"}.{"sub":"u-1"}."# },
    ]

    private static let algorithms: [Forgery] =
        [
            Forgery("alg none") { unsigned("none", $0, $1) },
            Forgery("alg None") { unsigned("None", $0, $1) },
            Forgery("alg nOnE with a signature") { $0.token(header: ["alg": "nOnE"], at: $1) },
            Forgery("alg empty") { unsigned("", $0, $1) },
            Forgery("alg PS256 on an RSA key") { $0.token(.rsa, header: ["alg": "PS256"], at: $1) },
            Forgery("alg RS512 on an RSA key") { $0.token(.rsa, header: ["alg": "RS512"], at: $1) },
            Forgery("alg RS1") { $0.token(.rsa, header: ["alg": "RS1"], at: $1) },
            Forgery("HMAC with the public key's PEM") { issuer, now in
                hmac("rsa", Data(issuer.rsa.publicKey.pemRepresentation.utf8), issuer, now)
            },
            Forgery("HMAC with the public key's DER") { hmac("rsa", $0.rsa.publicKey.derRepresentation, $0, $1) },
            Forgery("HMAC with the public point") { hmac("ec", $0.ec.publicKey.rawRepresentation, $0, $1) },
            Forgery("HMAC with nothing") { hmac("ec", Data(), $0, $1) },
        ] + headers("alg", [.null, 256, ["ES256"], "es256", "ES384", "ES256K"])

    private static let confusedKeys: [Forgery] =
        [
            Forgery("RS256 with the kid of the EC key") { $0.token(.rsa, header: ["kid": "ec"], at: $1) },
            Forgery("ES256 said of an RSA signature") { $0.token(.rsa, header: ["alg": "ES256"], at: $1) },
            Forgery("EdDSA said of an ECDSA signature") {
                $0.token(.ec, header: ["alg": "EdDSA", "kid": "ed"], at: $1)
            },
            Forgery("an RSA key of a stranger") { TestIssuer.stranger.token(.rsa, at: $1) },
            Forgery("an EC key of a stranger") { TestIssuer.stranger.token(.ec, at: $1) },
            Forgery("an Ed25519 key of a stranger") { TestIssuer.stranger.token(.ed, at: $1) },
            Forgery("a stranger's key and no kid") { TestIssuer.stranger.token(header: ["kid": .null], at: $1) },
            Forgery("a signature in DER") { issuer, now in
                let parts = issuer.token(at: now).components(separatedBy: ".")
                let signature = try! issuer.ec.signature(for: Data("\(parts[0]).\(parts[1])".utf8)).derRepresentation
                return "\(parts[0]).\(parts[1]).\(TestIssuer.base64URL(signature))"
            },
            zeros("r and s of nought", .ec, 64),
            zeros("an Ed25519 signature of nought", .ed, 64),
            zeros("an RSA signature of nought", .rsa, 256),
            Forgery("one bit of the signature") { flipped($0, $1, part: 2) },
            Forgery("one bit of the payload") { flipped($0, $1, part: 1) },
        ] + headers("kid", ["rsa", "ed", "ec-2", "", "../../../../dev/null", 1, ["ec"]])

    private static let headers: [Forgery] =
        [
            Forgery("the stranger's key in the header") { issuer, now in
                let key = TestIssuer.stranger.publicKey(.ec)
                return TestIssuer.stranger.token(header: ["jwk": .object(key)], at: now)
            },
            stranger(["jku": "https://evil.example/keys"]), stranger(["x5u": "https://evil.example/cert"]),
            stranger(["x5c": ["MIIB"]]),
            Forgery("crit jku") {
                $0.token(header: ["crit": ["jku"], "jku": "https://login.example.com/keys"], at: $1)
            },
            Forgery("crit exp") { $0.token(header: ["crit": ["exp"], "exp": 1], at: $1) },
        ] + headers("crit", [[]]) + headers("enc", ["A256GCM"]) + headers("b64", [false]) + headers("zip", ["DEF"])
        + headers("typ", ["logout+jwt", "secevent+jwt", 1])

    private static let times: [Forgery] =
        [time("exp", in: -60), time("exp", in: -3600), time("nbf", in: 61), time("nbf", in: 86_400)]
        + claims("exp", [.null, "4102444800", 4_102_444_800_000, true, -1, 0]) + claims("nbf", ["0", [:]])

    private static let (issuer, upperIssuer) = (JSONValue.string(TestIssuer.name), TestIssuer.name.uppercased())
    private static let names: [Forgery] =
        claims("iss", [.null, "https://evil.example", .string(TestIssuer.name + "/"), .string(upperIssuer), [issuer]])
        + claims("aud", [.null, "taxi", "foo", [], ["taxi", "ride"], ["food", 1], ["food": "food"], true])

    /// The long ones have 129 and 130 bytes.
    private static let long = [String(repeating: "x", count: 129), String(repeating: "é", count: 65)]
    private static let subjects: [Forgery] =
        claims("sub", [.null, "", 7, ["u-1"], "u-1\nadmin", "u-1\u{0}", "u-1\u{85}"] + long.map { .string($0) })
}

extension Forgery {
    private static func unsigned(_ algorithm: String, _ issuer: TestIssuer, _ now: Date) -> String {
        let parts = issuer.token(header: ["alg": .string(algorithm)], at: now).components(separatedBy: ".")
        return "\(parts[0]).\(parts[1])."
    }

    private static func hmac(_ kid: String, _ secret: Data, _ issuer: TestIssuer, _ now: Date) -> String {
        let token = issuer.token(header: ["alg": "HS256", "kid": .string(kid)], at: now)
        let text = token.components(separatedBy: ".").prefix(2).joined(separator: ".")
        let code = HMAC<SHA256>.authenticationCode(for: Data(text.utf8), using: SymmetricKey(data: secret))
        return "\(text).\(TestIssuer.base64URL(Data(code)))"
    }

    private static func zeros(_ name: String, _ key: TestIssuer.Key, _ count: Int) -> Forgery {
        Forgery(name) { issuer, now in
            let parts = issuer.token(key, at: now).components(separatedBy: ".")
            return "\(parts[0]).\(parts[1]).\(TestIssuer.base64URL(Data(count: count)))"
        }
    }

    private static func flipped(_ issuer: TestIssuer, _ now: Date, part: Int) -> String {
        var parts = issuer.token(at: now).components(separatedBy: ".")
        let index = parts[part].index(parts[part].startIndex, offsetBy: 20)
        let letter: Character = parts[part][index] == "A" ? "B" : "A"
        parts[part].replaceSubrange(index...index, with: [letter])
        return parts.joined(separator: ".")
    }
}
