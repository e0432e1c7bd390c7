/// `prc_` + id + `_` + secret + checksum, 47 characters.
///
/// - `pr`, a letter for the role (client, sender, a**u**ditor, admin, root), and `_`.
/// - The id: 12 random digits of base 62 (`0-9A-Za-z`). The prefix and the id name the key in logs and lists.
/// - The secret: 24 digits of base 62, 142 random bits.
/// - The checksum: the CRC-32 (ISO 3309) of the first 41 characters as 6 digits of base 62, the most significant first.
///   It rejects a mistyped or truncated key without a query.
package struct APIKey: Sendable {
    package let id: APIKeyID
    package let secret: Secret

    private static let secretCount = 24
    private static let checksumCount = 6

    package init(random role: Role) {
        id = APIKeyID(random: role)
        secret = Secret(Base62.random(count: Self.secretCount))
    }

    /// Nil if the format or the checksum is wrong.
    package init?(_ text: Secret) {
        let text = text.revealed
        let bodyCount = APIKeyID.length + 1 + Self.secretCount
        guard text.utf8.count == bodyCount + Self.checksumCount, text.utf8.allSatisfy({ $0 < 0x80 }) else { return nil }
        let body = text.prefix(bodyCount)
        guard Base62.sixDigits(CRC32.checksum(body.utf8)) == text.dropFirst(bodyCount) else { return nil }
        let secret = body.suffix(Self.secretCount)
        guard let id = try? APIKeyID(String(body.prefix(APIKeyID.length))), Base62.isValid(secret),
            body.dropFirst(APIKeyID.length).first == "_"
        else { return nil }
        self.id = id
        self.secret = Secret(String(secret))
    }

    /// Whether the text begins like a key. JWTs begin differently.
    package static func isMeant(by text: Secret) -> Bool {
        Role.allCases.contains { text.revealed.hasPrefix($0.keyPrefix) }
    }

    package var text: Secret {
        let body = "\(id.rawValue)_\(secret.revealed)"
        return Secret(body + Base62.sixDigits(CRC32.checksum(body.utf8)))
    }
}

/// The public name of a key, such as `prc_0aB1cD2eF3gH`.
package struct APIKeyID: Sendable, Hashable, CustomStringConvertible {
    /// 16 characters, including the prefix.
    package let rawValue: String
    package let role: Role

    static let length = 16

    init(random role: Role) {
        rawValue = role.keyPrefix + Base62.random(count: Self.length - role.keyPrefix.utf8.count)
        self.role = role
    }

    package init(_ rawValue: String) throws(JSONFaultReason) {
        guard rawValue.utf8.count == Self.length,
            let role = Role.allCases.first(where: { rawValue.hasPrefix($0.keyPrefix) }),
            Base62.isValid(rawValue.dropFirst(role.keyPrefix.count))
        else { throw JSONFaultReason("must be the id of an API key, such as prc_0aB1cD2eF3gH") }
        self.rawValue = rawValue
        self.role = role
    }

    package var description: String { rawValue }
}
