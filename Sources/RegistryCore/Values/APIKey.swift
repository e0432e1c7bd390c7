/// An API key as its bearer holds it: `prc_` + id + `_` + secret + checksum, 47 characters.
///
/// - `pr`, a letter for the role (client, sender, a**u**ditor, admin, root) and `_`;
/// - the id: 12 digits of base 62 (`0-9A-Za-z`), random; with the prefix it is the key's name in logs and lists;
/// - the secret: 24 digits of base 62, 142 random bits;
/// - the checksum: the CRC-32 (ISO 3309) of all 41 characters before it as 6 digits of base 62, the most significant
///   first. A mistyped or truncated key is refused by it alone, without a look at Postgres.
package struct APIKey: Sendable {
    package let id: APIKeyID
    package let secret: Secret

    private static let secretCount = 24
    private static let checksumCount = 6

    package init(random role: Role) {
        id = APIKeyID(random: role)
        secret = Secret(Base62.random(count: Self.secretCount))
    }

    /// Nil if any character is wrong.
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

    /// Whether the text looks like a key, whole or not: no JWT begins like this.
    package static func isMeant(by text: Secret) -> Bool {
        Role.allCases.contains { text.revealed.hasPrefix($0.keyPrefix) }
    }

    /// The whole key, shown once.
    package var text: Secret {
        let body = "\(id.rawValue)_\(secret.revealed)"
        return Secret(body + Base62.sixDigits(CRC32.checksum(body.utf8)))
    }
}

/// The public name of an API key: its prefix and 12 digits of base 62, such as `prc_0aB1cD2eF3gH`.
package struct APIKeyID: Sendable, Hashable, CustomStringConvertible {
    /// All 16 characters: the role's prefix, such as `prc_`, and the digits.
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
