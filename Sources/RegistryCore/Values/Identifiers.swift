/// A bundle id such as `com.example.food`: ASCII letters, digits, `.` and `-` (Apple's rule for `CFBundleIdentifier`),
/// at most 155 bytes (App Store Connect's limit).
package struct BundleID: Sendable, Hashable, Comparable, CustomStringConvertible {
    package let rawValue: String

    package init(_ rawValue: String) throws(JSONFaultReason) {
        let allowed = rawValue.utf8.allSatisfy { ASCII.isWord($0, or: ".-") }
        guard allowed, (1...155).contains(rawValue.utf8.count), rawValue != ".", rawValue != ".." else {
            throw JSONFaultReason("must be a bundle id: 1 to 155 letters, digits, '.' or '-'")
        }
        self.rawValue = rawValue
    }

    /// Skips the checks, because stored values are never rejected again.
    package init(stored rawValue: String) { self.rawValue = rawValue }
    package var description: String { rawValue }
    package static func < (left: BundleID, right: BundleID) -> Bool { left.rawValue < right.rawValue }
}

/// The id of one Live Activity, normally ActivityKit's `Activity.id`, at most 128 bytes of UTF-8. An id is used once.
package struct ActivityID: Sendable, Hashable, Comparable, CustomStringConvertible {
    package let rawValue: UTF8Text

    package init(_ rawValue: String) throws(JSONFaultReason) { self.rawValue = try UTF8Text(name: rawValue) }

    package init(stored rawValue: UTF8Text) { self.rawValue = rawValue }
    package var description: String { rawValue.string }
    package static func < (left: ActivityID, right: ActivityID) -> Bool { left.rawValue < right.rawValue }
}

/// A random id of one install of the app on one device, at most 128 bytes of UTF-8.
///
/// It is a secret of the device. Only its hash is stored, shown and logged.
package struct InstallationID: Sendable, Hashable, CustomStringConvertible {
    package let rawValue: UTF8Text
    package static let maximumBytes = 128

    package init(_ rawValue: String) throws(JSONFaultReason) {
        self.rawValue = try UTF8Text(name: rawValue, maximumBytes: Self.maximumBytes)
        guard rawValue.utf8.first != 0x20, rawValue.utf8.last != 0x20 else {
            throw JSONFaultReason("must not begin or end with a space, because header fields cannot")
        }
    }

    /// Constant, so that no log contains an id.
    package var description: String { "(installation id)" }
}

/// The SHA-256 over app and installation id.
package struct InstallationHash: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// 32 bytes.
    package let bytes: [UInt8]
    package init(bytes: [UInt8]) { self.bytes = bytes }

    package init(hexadecimal: String) throws(JSONFaultReason) {
        guard let bytes = Hexadecimal.decode(hexadecimal), bytes.count == 32 else {
            throw JSONFaultReason("must be an installation from a response: 64 hex digits")
        }
        self.bytes = bytes
    }

    package static func < (left: Self, right: Self) -> Bool { left.bytes.lexicographicallyPrecedes(right.bytes) }
    package var description: String { Hexadecimal.encode(bytes) }
}

/// The name of a type that conforms to `ActivityAttributes`, at most 128 bytes of UTF-8.
package struct AttributesType: Sendable, Hashable, CustomStringConvertible {
    package let rawValue: UTF8Text

    package init(_ rawValue: String) throws(JSONFaultReason) { self.rawValue = try UTF8Text(name: rawValue) }

    package init(stored rawValue: UTF8Text) { self.rawValue = rawValue }
    package var description: String { rawValue.string }
}

extension UTF8Text {
    /// The common rule of ids and alias values: 1 to `maximumBytes` bytes of UTF-8, no control character, and not `.`
    /// or `..`, because proxies and clients fold those away in paths.
    init(name text: String, maximumBytes: Int = 128) throws(JSONFaultReason) {
        guard !text.isEmpty else { throw JSONFaultReason("must not be empty") }
        guard text.utf8.count <= maximumBytes else {
            throw JSONFaultReason("must be at most \(maximumBytes) bytes of UTF-8")
        }
        guard text != ".", text != ".." else { throw JSONFaultReason("must not be '.' or '..'") }
        try Self.checkCharacters(text)
        self.init(text)
    }

    /// Rejects Unicode's general category Cc (C0, DEL and C1), which never changes.
    private static func checkCharacters(_ text: String) throws(JSONFaultReason) {
        guard !text.unicodeScalars.contains(where: { $0.value < 0x20 || (0x7F...0x9F).contains($0.value) }) else {
            throw JSONFaultReason("must not contain control characters")
        }
    }

    private static let maximumSubjectBytes = 128

    /// Reads the `sub` of a JWT: 1 to 128 bytes of UTF-8 without control characters. `.` and `..` are allowed because
    /// no path contains it.
    package static func subject(_ text: String) throws(JSONFaultReason) -> UTF8Text {
        guard (1...maximumSubjectBytes).contains(text.utf8.count) else {
            throw JSONFaultReason("must be 1 to \(maximumSubjectBytes) bytes of UTF-8")
        }
        try checkCharacters(text)
        return UTF8Text(text)
    }
}

/// 16 random bytes, as text 32 digits of hex.
package struct LeaseID: Sendable, Hashable, CustomStringConvertible {
    package let bytes: [UInt8]

    package init(_ text: String) throws(JSONFaultReason) {
        guard let bytes = Hexadecimal.decode(text), bytes.count == 16 else {
            throw JSONFaultReason("must be the leaseId of a plan, 32 digits of hex")
        }
        self.bytes = bytes
    }

    package init(stored bytes: [UInt8]) { self.bytes = bytes }
    package var description: String { Hexadecimal.encode(bytes) }
}

/// A token does not contain its environment. The registry never guesses it.
package enum APNSEnvironment: String, Sendable, Hashable, CaseIterable {
    case sandbox, production
    package var other: APNSEnvironment { self == .sandbox ? .production : .sandbox }
}
