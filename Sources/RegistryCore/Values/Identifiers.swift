/// The bundle id that names an app, such as `com.example.food`: ASCII letters, digits, `.` and `-`, at most 155 bytes
/// (Apple's documented characters of `CFBundleIdentifier`; 155 is App Store Connect's limit).
public struct BundleID: Sendable, Hashable, Comparable, CustomStringConvertible {
    public let rawValue: String

    /// - Throws: a sentence when a character or the length is not allowed.
    public init(_ rawValue: String) throws(JSONFaultReason) {
        let allowed = rawValue.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"):
                true
            default: false
            }
        }
        guard allowed, (1...155).contains(rawValue.utf8.count), rawValue != ".", rawValue != ".." else {
            throw JSONFaultReason("must be a bundle id: 1 to 155 letters, digits, '.' or '-'")
        }
        self.rawValue = rawValue
    }

    public var description: String { rawValue }

    public static func < (left: BundleID, right: BundleID) -> Bool { left.rawValue < right.rawValue }
}

/// The id of one Live Activity, normally ActivityKit's `Activity.id`; at most 128 bytes of UTF-8. An id is used once.
public struct ActivityID: Sendable, Hashable, CustomStringConvertible {
    public let rawValue: String

    /// - Throws: a sentence when it is empty, too long, `.`, `..`, or holds a control character.
    public init(_ rawValue: String) throws(JSONFaultReason) {
        try Self.check(rawValue, maximumBytes: 128)
        self.rawValue = rawValue
    }

    public var description: String { rawValue }
}

/// One install of the app on one device, named by a random id that the app makes and keeps; at most 128 bytes of UTF-8.
///
/// It is a secret of the device, so it prints as nothing; only its hash is stored and shown.
public struct InstallationID: Sendable, Hashable, CustomStringConvertible {
    public let rawValue: String

    /// - Throws: a sentence when it is empty, too long, `.`, `..`, or holds a control character.
    public init(_ rawValue: String) throws(JSONFaultReason) {
        try ActivityID.check(rawValue, maximumBytes: 128)
        self.rawValue = rawValue
    }

    public var description: String { "(installation id)" }
}

/// The SHA-256 over app and installation id: what is stored, shown and grouped by.
public struct InstallationHash: Sendable, Hashable, CustomStringConvertible {
    /// 32 bytes.
    public let bytes: [UInt8]

    public init(bytes: [UInt8]) { self.bytes = bytes }

    /// Lower-case hex.
    public var description: String { Hexadecimal.encode(bytes) }
}

/// The name of an activity's `ActivityAttributes` type; at most 128 bytes of UTF-8.
public struct AttributesType: Sendable, Hashable, CustomStringConvertible {
    public let rawValue: String

    /// - Throws: a sentence when it is empty, too long, `.`, `..`, or holds a control character.
    public init(_ rawValue: String) throws(JSONFaultReason) {
        try ActivityID.check(rawValue, maximumBytes: 128)
        self.rawValue = rawValue
    }

    public var description: String { rawValue }
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
        // Unicode's general category Cc, which never changes: C0, DEL and C1.
        guard !text.unicodeScalars.contains(where: { $0.value < 0x20 || (0x7F...0x9F).contains($0.value) }) else {
            throw JSONFaultReason("must not contain control characters")
        }
    }
}
