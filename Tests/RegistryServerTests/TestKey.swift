import Foundation
import HTTPTypes
import RegistryCore
import RegistryStore

@testable import RegistryServer

struct TestKey: Sendable {
    let key: APIKey
    var fields: HTTPFields { [.authorization: "Bearer \(key.text.revealed)"] }
}

extension LiveServer {
    func key(_ role: Role, of app: String = "com.example.food", expiresAt: Date? = nil) async throws -> TestKey {
        let key = APIKey(random: role)
        let request = APIKeyRequest(role: role, expiresAt: expiresAt)
        let owner = role == .root ? nil : try await registry.app(BundleID(app))
        _ = try await registry.createKey(key.id, digest: key.secretDigest, request, of: owner, by: "test")
        return TestKey(key: key)
    }
}
