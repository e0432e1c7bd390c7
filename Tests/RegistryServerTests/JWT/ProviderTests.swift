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
        let header: JSONObject
        let claims: JSONObject
        var key: JSONObject = ["use": "sig", "alg": "RS256"]
        var algorithm = TestIssuer.Key.rsa
        let user: UTF8Text

        var testDescription: String { name }
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
                "sub": "auth0|507f1f77bcf86cd799439011",
                "azp": "my_client_id", "scope": "openid profile",
            ],
            key: ["use": "sig", "alg": "RS256", "x5t": "AA", "x5c": ["MIIC"]],
            user: "auth0|507f1f77bcf86cd799439011"
        ),
        Provider(
            name: "Cognito",
            settings: [
                "issuer": "https://cognito-idp.eu-west-1.amazonaws.com/eu-west-1_EXAMPLE",
                "audience": "1example23456789",
                "audienceClaim": "client_id",
                "jwksUrl": "https://cognito-idp.eu-west-1.amazonaws.com/eu-west-1_EXAMPLE/.well-known/jwks.json",
            ],
            header: ["typ": .null],
            claims: [
                "sub": "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee", "token_use": "access", "client_id": "1example23456789",
                "username": "anna", "scope": "aws.cognito.signin.user.admin", "version": 2, "jti": "1",
            ],
            user: "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee"
        ),
        Provider(
            name: "Clerk",
            settings: [
                "issuer": "https://clerk.example.com", "audience": "https://app.example.com", "audienceClaim": "azp",
                "jwksUrl": "https://clerk.example.com/.well-known/jwks.json",
            ],
            header: ["cat": "cl_B7d4PD111AAA"],
            claims: [
                "azp": "https://app.example.com", "sub": "user_2abc", "sid": "sess_2abc", "v": 2, "fva": [0, -1],
                "sts": "active",
            ],
            user: "user_2abc"
        ),
        Provider(
            name: "Firebase",
            settings: [
                "issuer": "https://securetoken.google.com/my-project", "audience": "my-project",
                "jwksUrl":
                    "https://www.googleapis.com/service_accounts/v1/jwk/securetoken@system.gserviceaccount.com",
            ],
            header: [:],
            claims: [
                "aud": "my-project", "sub": "tRcfmLH7o2XrNELi", "user_id": "tRcfmLH7o2XrNELi",
                "auth_time": 1_700_000_000,
                "firebase": ["identities": [:], "sign_in_provider": "apple.com"],
            ],
            user: "tRcfmLH7o2XrNELi"
        ),
        Provider(
            name: "Supabase",
            settings: [
                "issuer": "https://abcdefgh.supabase.co/auth/v1", "audience": "authenticated",
                "jwksUrl": "https://abcdefgh.supabase.co/auth/v1/.well-known/jwks.json",
            ],
            header: [:],
            claims: [
                "aud": "authenticated", "sub": "11111111-2222-3333-4444-555555555555", "role": "authenticated",
                "aal": "aal1",
                "is_anonymous": false, "user_metadata": [:], "amr": [["method": "otp", "timestamp": 1_700_000_000]],
            ],
            key: ["use": "sig", "alg": "ES256", "ext": true, "key_ops": ["verify"]],
            algorithm: .ec,
            user: "11111111-2222-3333-4444-555555555555"
        ),
        Provider(
            name: "Keycloak",
            settings: [
                "issuer": "https://login.example.com/realms/food", "audience": "food-app", "audienceClaim": "azp",
                "jwksUrl": "https://login.example.com/realms/food/protocol/openid-connect/certs",
            ],
            header: [:],
            claims: [
                "aud": "account", "azp": "food-app", "sub": "f81d4fae-7dec-11d0-a765-00a0c91e6bf6", "typ": "Bearer",
                "realm_access": ["roles": ["offline_access"]], "preferred_username": "anna",
            ],
            user: "f81d4fae-7dec-11d0-a765-00a0c91e6bf6"
        ),
        Provider(
            name: "Microsoft Entra",
            settings: [
                "issuer": "https://login.microsoftonline.com/TENANT/v2.0",
                "audience": "00001111-aaaa-2222-bbbb-3333cccc4444",
                "subjectClaim": "oid", "jwksUrl": "https://login.microsoftonline.com/TENANT/discovery/v2.0/keys",
            ],
            header: ["x5t": "AA"],
            claims: [
                "aud": "00001111-aaaa-2222-bbbb-3333cccc4444", "sub": "pairwise",
                "oid": "22223333-cccc-4444-dddd-5555eeee6666",
                "tid": "TENANT", "ver": "2.0", "scp": "access_as_user", "uti": "x", "rh": "y", "azpacr": "0",
            ],
            key: [
                "use": "sig", "x5t": "AA", "x5c": ["MIIC"], "issuer": "https://login.microsoftonline.com/TENANT/v2.0",
            ],
            user: "22223333-cccc-4444-dddd-5555eeee6666"
        ),
        Provider(
            name: "Apple",
            settings: [
                "issuer": "https://appleid.apple.com", "audience": "com.example.food",
                "jwksUrl": "https://appleid.apple.com/auth/keys",
            ],
            header: ["typ": .null],
            claims: [
                "aud": "com.example.food", "sub": "001234.abcdef0123456789.0123", "auth_time": 1_700_000_000,
                "nonce_supported": true, "email": "x@privaterelay.appleid.com", "email_verified": true,
            ],
            user: "001234.abcdef0123456789.0123"
        ),
    ]

    private static func token(_ provider: Provider, _ more: JSONObject = [:]) -> String {
        let issuer = provider.settings["issuer"] ?? .null
        let claims = provider.claims.overlaid(by: more)
        // Most tokens have no nbf; those from Apple and a few others do.
        let usual: JSONObject = ["iss": issuer, "aud": .null, "nbf": .null]
        return TestIssuer.honest.token(
            provider.algorithm,
            header: provider.header,
            claims: usual.overlaid(by: claims),
            at: now
        )
    }

    private static func verify(_ token: String, of provider: Provider) async throws -> Principal {
        let key = TestIssuer.honest.publicKey(provider.algorithm).overlaid(by: provider.key)
        let encryption = TestIssuer.stranger.publicKey(.rsa).overlaid(by: [
            "use": "enc", "alg": "RSA-OAEP", "kid": "enc",
        ])
        let set: JSONValue = ["keys": [.object(encryption), .object(key)]]
        let clock = ServiceClock(date: { now }, uptime: { .zero })
        let keys = IssuerKeys(clock: clock, logger: .silent) { _ in set }
        return try await JWTVerifier(keys: keys, clock: clock).user(of: token, .sample(jwt: provider.settings))
    }

    @Test(arguments: providers) func `A token of an identity provider names its user`(_ provider: Provider) async throws
    {
        var json = JSONReader(["jwt": .object(provider.settings)])
        #expect(AppChanges(from: &json).jwt == provider.settings)
        #expect(json.faults.isEmpty)
        _ = try KeySetURL(#require(provider.settings["jwksUrl"]?.string), allowsInternal: false)
        #expect(try await Self.verify(Self.token(provider), of: provider).subject == provider.user)
        let audience = provider.settings["audienceClaim"]?.string ?? "aud"
        for wrong: JSONObject in [[audience: "another"], ["iss": "https://login.example.org"]] {
            let problem = await #expect(throws: Problem.self) {
                try await Self.verify(Self.token(provider, wrong), of: provider)
            }
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
        let end = try #require(
            provider.settings["jwksUrl"]?.string?.split(separator: "/").suffix(2).joined(separator: "/")
        )
        #expect(row.contains(end), "\(end)")
    }
}
