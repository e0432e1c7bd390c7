import Foundation
import RegistryCore
import TestSupport
import Testing

@testable import RegistryServer

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
