import HTTPTypes
import RegistryCore
import RegistryStore

enum Credentials: Sendable {
    case none
    case key(APIKey)
    /// Any other text. It can be a JWT.
    case token(Secret)

    /// In bytes, of the bearer text.
    private static let maximumBytes = 8192

    /// Reads `Authorization: Bearer …`.
    ///
    /// - Throws: `unauthenticated` for another scheme, several fields, or malformed credentials.
    init(_ fields: HTTPFields) throws(Problem) {
        let values = fields[values: .authorization]
        guard let value = values.first else {
            self = .none
            return
        }
        guard values.count == 1, let text = Self.bearerText(value) else {
            throw Problem(.unauthenticated, "Send one field: Authorization: Bearer, and an API key or a JWT.")
        }
        guard APIKey.isMeant(by: text) else {
            self = .token(text)
            return
        }
        guard let key = APIKey(text) else {
            throw Problem(.unauthenticated, "The API key is mistyped or cut off: its checksum is wrong.")
        }
        self = .key(key)
    }

    private static func bearerText(_ value: String) -> Secret? {
        let halves = value.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
        guard halves.count == 2, halves[0].lowercased() == "bearer", value.utf8.count <= maximumBytes else {
            return nil
        }
        let text = halves[1].drop { $0 == " " }
        guard !text.isEmpty, text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else { return nil }
        return Secret(String(text))
    }
}

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
