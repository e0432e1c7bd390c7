import Foundation
import RegistryCore
import TestSupport
import Testing

@testable import RegistryServer

@Suite struct JWTVerifierTests {
    private static let now = Date()

    private static func verify(_ text: String, _ settings: JSONObject = TestIssuer.honest.settings) async throws
        -> Principal
    {
        let clock = ServiceClock(date: { now }, uptime: { .zero })
        let keys = IssuerKeys(clock: clock, logger: .silent) { _ in throw JSONFaultReason("no network") }
        return try await JWTVerifier(keys: keys, clock: clock).user(of: text, .sample("a", jwt: settings))
    }

    @Test(arguments: Forgery.all)
    func `Forged, expired, confused and malformed JWTs are refused`(_ forgery: Forgery) async {
        let text = forgery.make(.honest, Self.now)
        let problem = await #expect(throws: Problem.self) { try await Self.verify(text) }
        #expect(problem?.code == .unauthenticated)
        #expect(problem?.detail.contains(text) == false)
    }

    /// The valid counterparts of the forgeries.
    @Test(arguments: TestIssuer.Key.allCases) func `Valid JWTs are accepted`(_ key: TestIssuer.Key) async throws {
        let issuer = TestIssuer.honest
        let second = Int64(Self.now.timeIntervalSince1970)
        let tokens = [
            issuer.token(key, at: Self.now),
            issuer.token(key, header: ["kid": .null, "typ": .null], at: Self.now),
            issuer.token(key, header: ["typ": "at+JWT"], claims: ["aud": ["taxi", "drink"]], at: Self.now),
            issuer.token(key, claims: ["exp": .integer(second - 58), "nbf": .integer(second + 59)], at: Self.now),
            issuer.token(
                key,
                header: ["jku": "https://keys.example.com", "x5u": "https://x.example", "x5t": "AA"],
                at: Self.now
            ),
            issuer.token(key, header: ["jwk": .object(issuer.publicKey(key)), "x5c": ["MIIB"]], at: Self.now),
            issuer.token(key, claims: ["exp": .number(Double(second) + 0.5), "nbf": .null], at: Self.now),
        ]
        for token in tokens {
            let principal = try await Self.verify(token)
            #expect(principal == Principal(role: .client, who: "user:u-1", app: try BundleID("a"), subject: "u-1"))
        }
        let long = String(repeating: "é", count: 64)
        let subject = try await Self.verify(issuer.token(key, claims: ["sub": .string(long)], at: Self.now)).subject
        #expect(subject == UTF8Text(long))
    }

    @Test func `Four keys are tried without a kid or with one kid`() async throws {
        func verify(strangers: Int, kid: JSONValue, _ change: JSONObject = [:]) async throws -> Principal {
            let keys = (0..<strangers).map { _ in TestIssuer().publicKey(.ec) } + [TestIssuer.honest.publicKey(.ec)]
            var settings = TestIssuer.honest.settings
            settings["jwks"] = ["keys": .array(keys.map { .object($0.overlaid(by: change)) })]
            return try await Self.verify(TestIssuer.honest.token(header: ["kid": kid], at: Self.now), settings)
        }
        for strangers in [1, 3] {
            #expect(try await verify(strangers: strangers, kid: .null).subject == "u-1")
            // Keys without a kid match any.
            #expect(try await verify(strangers: strangers, kid: "other", ["kid": .null]).subject == "u-1")
        }
        await #expect(throws: Problem.self) { try await verify(strangers: 4, kid: .null) }
        // Keys with the same kid.
        #expect(try await verify(strangers: 3, kid: "ec").subject == "u-1")
        await #expect(throws: Problem.self) { try await verify(strangers: 4, kid: "ec") }
        await #expect(throws: Problem.self) { try await verify(strangers: 1, kid: "other") }
    }

    @Test func `Ed25519 is another name of EdDSA`() async throws {
        var key = TestIssuer.honest.publicKey(.ed)
        var settings = TestIssuer.honest.settings
        for (name, inKey) in [("Ed25519", "Ed25519"), ("Ed25519", "EdDSA"), ("EdDSA", "Ed25519")] {
            key["alg"] = .string(inKey)
            settings["jwks"] = ["keys": [.object(key)]]
            let token = TestIssuer.honest.token(.ed, header: ["alg": .string(name)], at: Self.now)
            #expect(try await Self.verify(token, settings).subject == "u-1")
        }
    }

    @Test(
        arguments: [
            (
                ["iss": .string(TestIssuer.name + "/")], nil,
                "Its iss is not the app's issuer: only one ends with a slash."
            ),
            (["iss": "https://evil.example"], nil, "Its iss is not the app's issuer."),
            (["exp": "4102444800"], nil, "Its exp must be a number."), (["exp": 1], nil, "Its exp is in the past."),
            (["sub": .null], nil, "It has no sub."), (["nbf": "1"], nil, "Its nbf must be a number."),
            (["nbf": 4_102_444_800_000], nil, "Its nbf must be in seconds."),
            (["aud": .null], nil, "It has no aud."), (["aud": "taxi"], nil, "Its aud is not the app's audience."),
            ([:], "client_id", "It has no client_id."),
            (["client_id": "taxi"], "client_id", "Its client_id is not the app's audience."),
            (["client_id": "food", "aud": .null], "client_id", nil), (["azp": "food", "aud": "account"], "azp", nil),
        ] as [(JSONObject, String?, String?)]
    )
    func `A refusal names its claim`(_ claims: JSONObject, _ claim: String?, _ fault: String?) async throws {
        var settings = TestIssuer.honest.settings
        settings["audienceClaim"] = claim.map(JSONValue.string)
        let token = TestIssuer.honest.token(claims: claims, at: Self.now)
        do {
            #expect(try await Self.verify(token, settings).subject == "u-1" && fault == nil)
        } catch let problem as Problem {
            #expect(fault != nil && problem.detail == "The JWT is not valid. \(fault ?? "")")
        }
    }

    @Test(arguments: [
        "v7Jx0kq3-abcDEF", "sb_publishable_ACJWlzQHlZjBrEguHvfOxg", "eyJhbGciOiJkaXIiLCJlbmMiOiJBMjU2R0NNIn0..YQ.YQ.YQ",
    ])
    func `Opaque and encrypted tokens are named`(_ text: String) async {
        let problem = await #expect(throws: Problem.self) { try await Self.verify(text) }
        #expect(problem?.detail.hasSuffix("Opaque and encrypted tokens are refused.") == true)
    }

    @Test(
        arguments: [
            ["use": "enc"], ["use": 1], ["alg": "ES384"], ["alg": "RS256"], ["key_ops": ["sign"]],
            ["key_ops": "verify"],
            ["kty": "RSA"], ["kty": "oct"], ["crv": "P-384"], ["crv": "secp256k1"], ["x": ""], ["x": "AAAA"], ["y": 1],
            ["kid": 7],
        ] as [JSONObject]
    )
    func `Unsuitable keys are ignored`(_ change: JSONObject) async {
        var key = TestIssuer.honest.publicKey(.ec)
        for member in change { key[member.key] = member.value }
        var settings = TestIssuer.honest.settings
        settings["jwks"] = ["keys": [.object(key)]]
        let token = TestIssuer.honest.token(at: Self.now)
        await #expect(throws: Problem.self) { try await Self.verify(token, settings) }
    }

    @Test func `RSA keys have 2048 to 4096 bits`() {
        func isKey(_ modulus: [UInt8]) -> Bool {
            VerificationKey(["kty": "RSA", "n": .base64URL(Data(modulus)), "e": "AQAB"]) != nil
        }
        func modulus(_ bytes: Int) -> [UInt8] { [UInt8](repeating: 0xAB, count: bytes) }
        for bytes in [128, 255, 513, 1024] { #expect(!isKey(modulus(bytes))) }
        for bytes in [256, 384, 512] { #expect(isKey(modulus(bytes))) }
        // Leading zeros do not count; 4097 bits are too many.
        #expect(isKey([0] + modulus(512)))
        #expect(!isKey([1] + modulus(512)))
        #expect(VerificationKey(TestIssuer.honest.publicKey(.rsa)) != nil)
    }
}

extension JWTVerifier {
    func user(of text: String, _ app: App) async throws -> Principal {
        let text = Secret(text)
        return try await user(of: CompactJWT(text), named: VerifiedTokens.Name(text, of: app.bundleID), app)
    }
}

@Suite struct ProviderTests {
    private static let now = Date()

    /// A provider, the URL of its keys, the other members of `jwt` in the guide, and the claims of a token of the user
    /// u-1 for the audience `food`.
    typealias Provider = (name: String, url: String, more: JSONObject, claims: JSONObject)

    static let providers: [Provider] = [
        (
            "Auth0", "https://example.eu.auth0.com/.well-known/jwks.json", [:],
            ["aud": ["food", "https://example.eu.auth0.com/userinfo"], "azp": "my_client_id"]
        ),
        (
            "Cognito", "https://cognito-idp.eu-west-1.amazonaws.com/eu-west-1_EXAMPLE/.well-known/jwks.json",
            ["audienceClaim": "client_id"], ["client_id": "food", "token_use": "access"]
        ),
        (
            "Clerk", "https://clerk.example.com/.well-known/jwks.json", ["audienceClaim": "azp"],
            ["azp": "food", "v": 2, "fva": [0, -1], "sts": "active"]
        ),
        (
            "Firebase", "https://www.googleapis.com/service_accounts/v1/jwk/securetoken@system.gserviceaccount.com",
            [:], ["aud": "food", "user_id": "u-1", "auth_time": 1_700_000_000, "firebase": ["identities": [:]]]
        ),
        (
            "Supabase", "https://abcdefgh.supabase.co/auth/v1/.well-known/jwks.json", [:],
            ["aud": "food", "role": "authenticated", "aal": "aal1"]
        ),
        (
            "Keycloak", "https://login.example.com/realms/food/protocol/openid-connect/certs",
            ["audienceClaim": "azp"], ["aud": "account", "azp": "food", "typ": "Bearer"]
        ),
        (
            "Microsoft Entra", "https://login.microsoftonline.com/TENANT/discovery/v2.0/keys",
            ["subjectClaim": "oid"], ["aud": "food", "sub": "pairwise", "oid": "u-1", "ver": "2.0"]
        ),
        ("Apple", "https://appleid.apple.com/auth/keys", [:], ["aud": "food", "nonce_supported": true]),
    ]

    private static func settings(_ provider: Provider) -> JSONObject {
        let settings: JSONObject = [
            "issuer": .string(TestIssuer.name), "audience": "food", "jwksUrl": .string(provider.url),
        ]
        return settings.overlaid(by: provider.more)
    }

    /// The user of a token with additional claims, among keys for signing and encryption.
    ///
    /// Header and key have the members of all providers.
    private static func user(_ provider: Provider, _ more: JSONObject = [:]) async throws -> UTF8Text? {
        // Most tokens have no nbf; those from Apple and a few others do.
        var claims: JSONObject = ["aud": .null, "nbf": .null]
        for member in Array(provider.claims) + Array(more) { claims[member.key] = member.value }
        let header: JSONObject = ["typ": "at+jwt", "cat": "cl_B7d4PD111AAA", "x5t": "AA"]
        let token = TestIssuer.honest.token(.rsa, header: header, claims: claims, at: now)
        let key = TestIssuer.honest.publicKey(.rsa).overlaid(by: [
            "use": "sig", "alg": "RS256", "x5t": "AA", "x5c": ["MIIC"], "issuer": "https://x.example", "ext": true,
            "key_ops": ["verify"],
        ])
        let encryption = TestIssuer.stranger.publicKey(.rsa)
            .overlaid(by: ["use": "enc", "alg": "RSA-OAEP", "kid": "enc"])
        let clock = ServiceClock(date: { now }, uptime: { .zero })
        let keys = IssuerKeys(clock: clock, logger: .silent) { _ in ["keys": [.object(encryption), .object(key)]] }
        let app = App.sample(jwt: settings(provider))
        return try await JWTVerifier(keys: keys, clock: clock).user(of: token, app).subject
    }

    @Test(arguments: providers) func `A token of an identity provider names its user`(_ provider: Provider) async throws
    {
        let settings = Self.settings(provider)
        var json = JSONReader(["jwt": .object(settings)])
        #expect(AppChanges(from: &json).jwt == settings)
        #expect(json.faults.isEmpty)
        _ = try KeySetURL(provider.url, allowsInternal: false)
        #expect(try await Self.user(provider) == "u-1")
        let audience = settings["audienceClaim"]?.string ?? "aud"
        for wrong: JSONObject in [[audience: "another"], ["iss": "https://login.example.org"]] {
            let problem = await #expect(throws: Problem.self) { try await Self.user(provider, wrong) }
            #expect(problem?.code == .unauthenticated)
        }
    }

    @Test(arguments: providers) func `The guide has the settings of an identity provider`(_ provider: Provider) throws {
        let guide = "Sources/WebAssets/Documentation.docc/AccessAndLimits.md"
        let text = try String(contentsOf: ProjectFiles.root.appendingPathComponent(guide), encoding: .utf8)
        let row = try #require(text.split(separator: "\n").first { $0.hasPrefix("| \(provider.name)") })
        for claim in provider.more { #expect(row.contains("`\(claim.key)` `\(claim.value.string ?? "")`")) }
        // The end of the URL, because the guide uses another name inside it.
        let end = provider.url.split(separator: "/").suffix(2).joined(separator: "/")
        #expect(row.contains(end), "\(end)")
    }
}
