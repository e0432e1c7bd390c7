import HTTPTypes
import RegistryCore
import RegistryStore

/// The parsed API key of a connection's last request. The next request usually has the same key and skips the parsing,
/// but not the check of validity.
struct RememberedKey: Sendable {
    let id: APIKeyID
    let digest: [UInt8]
    /// The complete field, because a proxy can send requests of several clients.
    private let field: Secret

    init(_ key: APIKey, of fields: HTTPFields) {
        id = key.id
        digest = key.secretDigest
        field = Secret(fields[.authorization] ?? "")
    }

    func isBorne(by fields: HTTPFields) -> Bool {
        let values = fields[values: .authorization]
        return values.count == 1 && Secret(values[0]) == field
    }
}
