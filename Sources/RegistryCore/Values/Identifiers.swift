/// The bundle id that names an app, such as `com.example.food`: ASCII letters, digits, `.` and `-`, at most 155 bytes
/// (Apple's documented characters of `CFBundleIdentifier`; 155 is App Store Connect's limit).
package struct BundleID: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// The bundle id as it came; upper and lower case differ.
    package let rawValue: String

    /// - Throws: a sentence when a character or the length is not allowed.
    package init(_ rawValue: String) throws(JSONFaultReason) {
        let allowed = rawValue.utf8.allSatisfy { ASCII.isLetter($0) || ASCII.isDigit($0) || ".-".utf8.contains($0) }
        guard allowed, (1...155).contains(rawValue.utf8.count), rawValue != ".", rawValue != ".." else {
            throw JSONFaultReason("must be a bundle id: 1 to 155 letters, digits, '.' or '-'")
        }
        self.rawValue = rawValue
    }

    /// A bundle id that is stored: it was checked when it came, and is never refused again.
    package init(stored rawValue: String) { self.rawValue = rawValue }

    /// The bundle id itself.
    package var description: String { rawValue }

    /// Compares as Swift's texts do; all characters are ASCII.
    package static func < (left: BundleID, right: BundleID) -> Bool { left.rawValue < right.rawValue }
}

/// The id of one Live Activity, normally ActivityKit's `Activity.id`; at most 128 bytes of UTF-8. An id is used once.
package struct ActivityID: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// The id as it came, compared byte by byte.
    package let rawValue: UTF8Text

    /// The longest id, in bytes.
    package static let maximumBytes = 128

    /// - Throws: a sentence when it is empty, too long, `.`, `..`, or holds a control character.
    package init(_ rawValue: String) throws(JSONFaultReason) {
        try Self.check(rawValue, maximumBytes: Self.maximumBytes)
        self.rawValue = UTF8Text(rawValue)
    }

    /// An id that is stored: it was checked when it came, and is never refused again.
    package init(stored rawValue: UTF8Text) { self.rawValue = rawValue }

    /// The id itself.
    package var description: String { rawValue.string }

    /// Compares byte by byte.
    package static func < (left: ActivityID, right: ActivityID) -> Bool { left.rawValue < right.rawValue }
}

/// One install of the app on one device, named by a random id that the app makes and keeps; at most 128 bytes of UTF-8.
///
/// It is a secret of the device, so it prints as nothing; only its hash is stored and shown.
package struct InstallationID: Sendable, Hashable, CustomStringConvertible {
    /// The id as the app made it: a secret, never to be logged or stored.
    package let rawValue: UTF8Text

    /// The longest id, in bytes.
    package static let maximumBytes = 128

    /// - Throws: a sentence when it is empty, too long, `.`, `..`, or holds a control character.
    package init(_ rawValue: String) throws(JSONFaultReason) {
        try ActivityID.check(rawValue, maximumBytes: Self.maximumBytes)
        self.rawValue = UTF8Text(rawValue)
    }

    /// The same words for every id, so that none comes into a log.
    package var description: String { "(installation id)" }
}

/// The SHA-256 over app and installation id: what is stored, shown and grouped by.
package struct InstallationHash: Sendable, Hashable, CustomStringConvertible {
    /// 32 bytes.
    package let bytes: [UInt8]

    /// Wraps a hash that was made before, 32 bytes.
    package init(bytes: [UInt8]) { self.bytes = bytes }

    /// Lower-case hex.
    package var description: String { Hexadecimal.encode(bytes) }
}

/// The name of an activity's `ActivityAttributes` type; at most 128 bytes of UTF-8.
package struct AttributesType: Sendable, Hashable, CustomStringConvertible {
    /// The name as it came, compared byte by byte.
    package let rawValue: UTF8Text

    /// The longest name, in bytes.
    package static let maximumBytes = 128

    /// - Throws: a sentence when it is empty, too long, `.`, `..`, or holds a control character.
    package init(_ rawValue: String) throws(JSONFaultReason) {
        try ActivityID.check(rawValue, maximumBytes: Self.maximumBytes)
        self.rawValue = UTF8Text(rawValue)
    }

    /// A name that is stored: it was checked when it came, and is never refused again.
    package init(stored rawValue: UTF8Text) { self.rawValue = rawValue }

    /// The name itself.
    package var description: String { rawValue.string }
}

extension ActivityID {
    /// The rule that all ids and alias values share: 1 to `maximumBytes` bytes of UTF-8, no control character,
    /// and never `.` or `..`, which proxies and clients fold away in paths.
    static func check(_ text: String, maximumBytes: Int) throws(JSONFaultReason) {
        guard !text.isEmpty else { throw JSONFaultReason("must not be empty") }
        guard text.utf8.count <= maximumBytes else {
            throw JSONFaultReason("must be at most \(maximumBytes) bytes of UTF-8")
        }
        guard text != ".", text != ".." else { throw JSONFaultReason("must not be '.' or '..'") }
        try checkCharacters(text)
    }

    /// Unicode's general category Cc, which never changes, must not be in it: C0, DEL and C1.
    fileprivate static func checkCharacters(_ text: String) throws(JSONFaultReason) {
        guard !text.unicodeScalars.contains(where: { $0.value < 0x20 || (0x7F...0x9F).contains($0.value) }) else {
            throw JSONFaultReason("must not contain control characters")
        }
    }
}

extension UTF8Text {
    private static let maximumSubjectBytes = 128

    /// Reads the name of a signed-in user, the `sub` of a JWT: 1 to 128 bytes of UTF-8 without control characters. It
    /// stands in no path, so `.` and `..` are names like any other.
    ///
    /// - Throws: a sentence when it is anything else.
    package static func subject(_ text: String) throws(JSONFaultReason) -> UTF8Text {
        guard (1...maximumSubjectBytes).contains(text.utf8.count) else {
            throw JSONFaultReason("must be 1 to \(maximumSubjectBytes) bytes of UTF-8")
        }
        try ActivityID.checkCharacters(text)
        return UTF8Text(text)
    }
}
