import Foundation
import RegistryCore
import Synchronization

/// Fetches an identity provider's discovery document and its keys (OpenID Connect Discovery 1.0).
final class ProviderDiscovery: Sendable {
    let settings: SignInSettings
    // The operator names the provider, which may well be in the operator's own network.
    let fetcher = KeySetFetcher(allowsInternal: true)
    private let found = Mutex(JSONValue.null)

    init(_ settings: SignInSettings) { self.settings = settings }

    var url: String { settings.issuer.replacing(/\/$/, with: "") + "/.well-known/openid-configuration" }

    /// The document of the last successful fetch.
    var document: JSONValue { found.withLock(\.self) }

    /// - Throws: a sentence without a subject that names the URL.
    @Sendable
    func fetchKeys(_ url: String) async throws -> JSONValue {
        var place = url
        do {
            let document = try await fetcher.fetch(url)
            try check(document)
            place = document["jwks_uri"]?.string ?? ""
            let keys = try await fetcher.fetch(place)
            _ = try await VerificationKeySet.read(keys)
            found.withLock { $0 = document }
            return keys
        } catch {
            throw JSONFaultReason("\(place) \(KeySetFetcher.reason(error))")
        }
    }

    private func check(_ document: JSONValue) throws(JSONFaultReason) {
        guard document["issuer"] == .string(settings.issuer) else {
            throw JSONFaultReason("states another issuer; --oidc-issuer must equal it, also in a slash at the end")
        }
        let scheme = SignInSettings.isLocal(settings.issuer) ? /https?:\/\/[!-~]+/ : /https:\/\/[!-~]+/
        for name in ["authorization_endpoint", "token_endpoint", "jwks_uri"]
        where document[name]?.string?.wholeMatch(of: scheme) == nil {
            throw JSONFaultReason("has no https URL as \(name)")
        }
        let methods = JWTRequirements.texts(document["code_challenge_methods_supported"])
        guard methods.isEmpty || methods.contains("S256") else { throw JSONFaultReason("lacks PKCE with S256") }
    }
}

extension Finding {
    /// Asks the identity provider for what sign-in to the console needs of it. Nil if it is there.
    package static func aboutSignIn(_ settings: SignInSettings) async -> Finding? {
        let discovery = ProviderDiscovery(settings)
        do {
            _ = try await discovery.fetchKeys(discovery.url)
            return nil
        } catch {
            let detail = "\(KeySetFetcher.reason(error)), so nobody signs in to the console there."
            let remedy = "Set --oidc-issuer to the provider's issuer, and let this machine reach it."
            return Finding(.consoleSignIn, detail, remedy: remedy)
        }
    }
}
