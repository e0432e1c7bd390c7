import Foundation
import RegistryCore
import Testing

@testable import RegistryServer

@Suite struct ProviderTests {
    private static let now = Date()

    struct Provider: Sendable, CustomTestStringConvertible {
        let name: String
        /// The members of `jwt` in the guide.
        let settings: JSONObject
        /// The members of header, claims and key that differ from the usual ones.
        var header: JSONObject = [:]
        let claims: JSONObject
        var key: JSONObject = ["use": "sig", "alg": "RS256"]
        var algorithm = TestIssuer.Key.rsa

        var testDescription: String { name }
        var user: JSONValue? { claims[settings["subjectClaim"]?.string ?? "sub"] }
    }

    static let providers = [
        Provider(
            name: "Auth0",
            settings: [
                "issuer": "https://example.eu.auth0.com/", "audience": "https://api.example.com",
                "jwksUrl": "https://example.eu.auth0.com/.well-known/jwks.json",
            ],
            header: ["typ": "at+jwt"],
            claims: [
                "aud": ["https://api.example.com", "https://example.eu.auth0.com/userinfo"],
                "sub": "auth0|507f1f77bcf86cd799439011", "azp": "my_client_id",
            ],
            key: ["use": "sig", "alg": "RS256", "x5t": "AA", "x5c": ["MIIC"]]
        ),
        Provider(
            name: "Cognito",
            settings: [
                "issuer": "https://cognito-idp.eu-west-1.amazonaws.com/eu-west-1_EXAMPLE",
                "audience": "1example23456789", "audienceClaim": "client_id",
                "jwksUrl": "https://cognito-idp.eu-west-1.amazonaws.com/eu-west-1_EXAMPLE/.well-known/jwks.json",
            ],
            header: ["typ": .null],
            claims: ["sub": "aaaaaaaa-bbbb-cccc-dddd", "token_use": "access", "client_id": "1example23456789"]
        ),
        Provider(
            name: "Clerk",
            settings: [
                "issuer": "https://clerk.example.com", "audience": "https://app.example.com", "audienceClaim": "azp",
                "jwksUrl": "https://clerk.example.com/.well-known/jwks.json",
            ],
            header: ["cat": "cl_B7d4PD111AAA"],
            claims: ["azp": "https://app.example.com", "sub": "user_2abc", "v": 2, "fva": [0, -1], "sts": "active"]
        ),
        Provider(
            name: "Firebase",
            settings: [
                "issuer": "https://securetoken.google.com/my-project", "audience": "my-project",
                "jwksUrl":
                    "https://www.googleapis.com/service_accounts/v1/jwk/securetoken@system.gserviceaccount.com",
            ],
            claims: [
                "aud": "my-project", "sub": "tRcfmLH7o2XrNELi", "user_id": "tRcfmLH7o2XrNELi",
                "auth_time": 1_700_000_000, "firebase": ["identities": [:], "sign_in_provider": "apple.com"],
            ]
        ),
        Provider(
            name: "Supabase",
            settings: [
                "issuer": "https://abcdefgh.supabase.co/auth/v1", "audience": "authenticated",
                "jwksUrl": "https://abcdefgh.supabase.co/auth/v1/.well-known/jwks.json",
            ],
            claims: ["aud": "authenticated", "sub": "11111111-2222-3333-4444", "role": "authenticated", "aal": "aal1"],
            key: ["use": "sig", "alg": "ES256", "ext": true, "key_ops": ["verify"]],
            algorithm: .ec
        ),
        Provider(
            name: "Keycloak",
            settings: [
                "issuer": "https://login.example.com/realms/food", "audience": "food-app", "audienceClaim": "azp",
                "jwksUrl": "https://login.example.com/realms/food/protocol/openid-connect/certs",
            ],
            claims: ["aud": "account", "azp": "food-app", "sub": "f81d4fae-7dec-11d0-a765", "typ": "Bearer"]
        ),
        Provider(
            name: "Microsoft Entra",
            settings: [
                "issuer": "https://login.microsoftonline.com/TENANT/v2.0", "audience": "00001111-aaaa-2222-bbbb",
                "subjectClaim": "oid", "jwksUrl": "https://login.microsoftonline.com/TENANT/discovery/v2.0/keys",
            ],
            header: ["x5t": "AA"],
            claims: ["aud": "00001111-aaaa-2222-bbbb", "sub": "pairwise", "oid": "22223333-cccc-4444", "ver": "2.0"],
            key: ["use": "sig", "x5c": ["MIIC"], "issuer": "https://login.microsoftonline.com/TENANT/v2.0"]
        ),
        Provider(
            name: "Apple",
            settings: [
                "issuer": "https://appleid.apple.com", "audience": "com.example.food",
                "jwksUrl": "https://appleid.apple.com/auth/keys",
            ],
            header: ["typ": .null],
            claims: ["aud": "com.example.food", "sub": "001234.abcdef0123456789.0123", "nonce_supported": true]
        ),
    ]

    /// The user of a token with additional claims, among keys for signing and encryption.
    private static func user(_ provider: Provider, _ more: JSONObject = [:]) async throws -> JSONValue? {
        // Most tokens have no nbf; those from Apple and a few others do.
        let usual: JSONObject = ["iss": provider.settings["issuer"] ?? .null, "aud": .null, "nbf": .null]
        let claims = usual.overlaid(by: provider.claims).overlaid(by: more)
        let token = TestIssuer.honest.token(provider.algorithm, header: provider.header, claims: claims, at: now)
        let key = TestIssuer.honest.publicKey(provider.algorithm).overlaid(by: provider.key)
        let encryption = TestIssuer.stranger.publicKey(.rsa)
            .overlaid(by: ["use": "enc", "alg": "RSA-OAEP", "kid": "enc"])
        let clock = ServiceClock(date: { now }, uptime: { .zero })
        let keys = IssuerKeys(clock: clock, logger: .silent) { _ in ["keys": [.object(encryption), .object(key)]] }
        let verifier = JWTVerifier(keys: keys, clock: clock)
        return try await verifier.user(of: token, .sample(jwt: provider.settings)).subject.map { .string($0.string) }
    }

    @Test(arguments: providers) func `A token of an identity provider names its user`(_ provider: Provider) async throws
    {
        var json = JSONReader(["jwt": .object(provider.settings)])
        #expect(AppChanges(from: &json).jwt == provider.settings && json.faults.isEmpty)
        _ = try KeySetURL(#require(provider.settings["jwksUrl"]?.string), allowsInternal: false)
        #expect(try await Self.user(provider) == provider.user)
        let audience = provider.settings["audienceClaim"]?.string ?? "aud"
        for wrong: JSONObject in [[audience: "another"], ["iss": "https://login.example.org"]] {
            let problem = await #expect(throws: Problem.self) { try await Self.user(provider, wrong) }
            #expect(problem?.code == .unauthenticated)
        }
    }

    @Test(arguments: providers) func `The guide has the settings of an identity provider`(_ provider: Provider) throws {
        let guide = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../../Sources/WebAssets/Documentation.docc/AccessAndLimits.md")
        let text = try String(contentsOf: guide, encoding: .utf8)
        let row = try #require(text.split(separator: "\n").first { $0.hasPrefix("| \(provider.name)") })
        for claim in ["audienceClaim", "subjectClaim"] {
            guard let name = provider.settings[claim]?.string else { continue }
            #expect(row.contains("`\(claim)` `\(name)`"))
        }
        // The end of the URL, because the guide uses another name inside it.
        let url = try #require(provider.settings["jwksUrl"]?.string)
        #expect(row.contains(url.split(separator: "/").suffix(2).joined(separator: "/")), "\(url)")
    }
}
