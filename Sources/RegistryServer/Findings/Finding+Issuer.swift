import RegistryCore
import RegistryStore

extension Finding {
    /// Fetches the keys of the app's issuer. Nil if they are usable, or without a `jwksUrl`.
    package static func aboutKeys(of app: App, allowsInternal: Bool) async -> Finding? {
        guard case .url(let url)? = JWTRequirements(app.settings.jwt)?.source else { return nil }
        do {
            let fetcher = KeySetFetcher(allowsInternal: allowsInternal)
            _ = try await VerificationKeySet.read(try await fetcher.fetch(url))
            return nil
        } catch {
            return Finding(issuerOf: app.bundleID, failure: KeySetFetcher.reason(error))
        }
    }

    init(issuerOf app: BundleID, failure: String) {
        self.init(
            .issuerKeys,
            "The jwksUrl of \(app) \(failure), so its signed-in users are refused.",
            remedy: "Set jwt.jwksUrl of the app to the URL of the issuer's JSON Web Key Set."
        )
    }
}
