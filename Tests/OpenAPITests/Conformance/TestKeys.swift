import Foundation
import HTTPTypes
import RegistryCore
import RegistryServer
import RegistryStore
import TestSupport

/// Keys of the probes' app, one per role, and an admin's key of another app.
struct TestKeys: Sendable {
    static let shared = TestKeys()
    private let keys = Dictionary(uniqueKeysWithValues: Role.ofApps.map { ($0, APIKey(random: $0)) })
    let foreign = APIKey(random: .admin)
    private static let otherBundleID = "com.example.other"

    func key(_ role: Role) -> APIKey { keys[role] ?? foreign }

    func store(in registry: Registry) async throws {
        for (bundleID, keys) in [(Message.bundleID, Array(keys.values)), (Self.otherBundleID, [foreign])] {
            var settings = AppChanges()
            settings.jwt = TestIssuer.honest.settings
            let app = try await registry.put(settings, for: BundleID(bundleID), by: "test").app
            for key in keys {
                let request = APIKeyRequest(role: key.id.role)
                _ = try await registry.createKey(key.id, digest: key.secretDigest, request, of: app, by: "test")
            }
        }
    }
}

extension Message {
    func with(_ key: APIKey) -> Message { with("Authorization", "Bearer \(key.text.revealed)") }

    func by(user: String) -> Message {
        let token = TestIssuer.honest.token(claims: ["sub": .string(user)], at: Date())
        return with("Authorization", "Bearer \(token)")
    }
}
