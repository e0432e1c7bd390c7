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

package enum Role: String, Sendable, Hashable, CaseIterable {
    /// An app or its backend. It registers tokens and never reads one.
    case client
    /// A service that sends to APNs.
    case sender
    /// Reads an app's settings and records. Tokens are masked.
    case auditor
    /// All rights in one app, except to create or delete it.
    case admin
    /// All rights in all apps.
    case root
    package static let ofApps: [Role] = [.client, .sender, .auditor, .admin]

    package var keyPrefix: String {
        switch self {
        case .client: "prc_"
        case .sender: "prs_"
        case .auditor: "pru_"
        case .admin: "pra_"
        case .root: "prr_"
        }
    }
}

/// Letters and digits only, so a double click selects a complete key.
enum Base62 {
    private static let digits = Array("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8)

    /// Uniform digits from the system's secure random source: 5.95 bits per digit.
    static func random(count: Int) -> String {
        String(decoding: (0..<count).map { _ in digits[Int.random(in: 0..<62)] }, as: UTF8.self)
    }

    /// Six digits hold 32 bits. The most significant digit is first.
    static func sixDigits(_ number: UInt32) -> String {
        var rest = Int(number)
        var text: [UInt8] = []
        for _ in 0..<6 {
            text.append(digits[rest % 62])
            rest /= 62
        }
        return String(decoding: text.reversed(), as: UTF8.self)
    }

    static func isValid(_ text: Substring) -> Bool { text.utf8.allSatisfy(digits.contains) }
}

/// The checksum of ISO 3309, zlib and PNG. It detects typing errors and gives no protection against an attacker.
enum CRC32 {
    /// Polynomial 0x04C11DB7, reflected, with all ones as initial value and final XOR.
    static func checksum(_ bytes: some Sequence<UInt8>) -> UInt32 {
        ~bytes.reduce(UInt32.max) { remainder, byte in
            (0..<8).reduce(remainder ^ UInt32(byte)) { rest, _ in (rest >> 1) ^ (rest & 1 == 1 ? 0xEDB8_8320 : 0) }
        }
    }
}
