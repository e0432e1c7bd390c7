import HTTPTypes
import RegistryCore
import RegistryStore

/// The API key of a connection's last request as it was read: the next one nearly always bears the same, and need not be read
/// again. Whether it is valid is asked each time.
struct RememberedKey: Sendable {
    let id: APIKeyID
    /// The SHA-256 of its secret.
    let digest: [UInt8]
    /// The whole field, which a proxy's next request may have from another client.
    private let field: Secret

    /// - Parameter fields: those that the key was read from.
    init(_ key: APIKey, of fields: HTTPFields) {
        id = key.id
        digest = key.secretDigest
        field = Secret(fields[.authorization] ?? "")
    }

    /// Whether a request bears the same key, in one field of the very same bytes.
    func isBorne(by fields: HTTPFields) -> Bool {
        let values = fields[values: .authorization]
        return values.count == 1 && Secret(values[0]) == field
    }
}
