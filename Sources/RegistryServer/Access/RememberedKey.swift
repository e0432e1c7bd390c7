import HTTPTypes
import RegistryCore
import RegistryStore

/// The parsed API key of a connection's last request: the next request usually has it, too, and skips the parsing. Its
/// validity is checked each time.
struct RememberedKey: Sendable {
    let id: APIKeyID
    let digest: [UInt8]
    /// The whole field, because a proxy's next request may have another client's.
    private let field: Secret

    init(_ key: APIKey, of fields: HTTPFields) {
        id = key.id
        digest = key.secretDigest
        field = Secret(fields[.authorization] ?? "")
    }

    /// Whether a request has this key, in one field of identical bytes.
    func isBorne(by fields: HTTPFields) -> Bool {
        let values = fields[values: .authorization]
        return values.count == 1 && Secret(values[0]) == field
    }
}
