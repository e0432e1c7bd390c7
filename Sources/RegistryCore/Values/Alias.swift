/// A name that the business knows activities by, such as (`liveactivityId`, `order-42`).
///
/// Aliases are compared byte by byte. One alias may name many activities; one activity may bear many aliases.
package struct Alias: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// `[A-Za-z][A-Za-z0-9_.-]{0,63}`.
    package let kind: UTF8Text
    /// 1 to 256 bytes of UTF-8 without control characters, never `.` or `..`.
    package let value: UTF8Text

    package init(kind: String, value: String) throws(JSONFaultReason) {
        try Self.checkKind(kind)
        try Self.checkValue(value)
        self.kind = UTF8Text(kind)
        self.value = UTF8Text(value)
    }

    /// The kind and the value were checked before.
    package init(checkedKind kind: UTF8Text, value: UTF8Text) {
        self.kind = kind
        self.value = value
    }

    /// Reads `kind:value`: a kind has no colon.
    ///
    /// - Throws: a sentence if the text, the kind or the value is not allowed.
    package init(pair text: String) throws(JSONFaultReason) {
        guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) else {
            throw JSONFaultReason("must be kind:value, such as liveactivityId:order-42")
        }
        try self.init(kind: String(text[..<colon]), value: String(text[text.utf8.index(after: colon)...]))
    }

    /// - Throws: a sentence if `kind` is not `[A-Za-z][A-Za-z0-9_.-]{0,63}`.
    package static func checkKind(_ kind: String) throws(JSONFaultReason) {
        let bytes = Array(kind.utf8)
        let beginsWithLetter = bytes.first.map(ASCII.isLetter) ?? false
        guard beginsWithLetter, bytes.count <= 64, bytes.allSatisfy(isOfKind) else {
            throw JSONFaultReason("an alias kind must match [A-Za-z][A-Za-z0-9_.-]{0,63}")
        }
    }

    /// - Throws: a sentence if `value` is not 1 to 256 bytes without control characters, or is `.` or `..`.
    static func checkValue(_ value: String) throws(JSONFaultReason) { try ActivityID.check(value, maximumBytes: 256) }

    /// The kind of the alias that `POST …/activities` takes.
    package static let liveActivityKind: UTF8Text = "liveactivityId"

    /// `kind:value`, as ``init(pair:)`` reads it.
    package var description: String { "\(kind):\(value)" }

    package static func < (left: Alias, right: Alias) -> Bool {
        left.kind == right.kind ? left.value < right.value : left.kind < right.kind
    }

    private static func isOfKind(_ byte: UInt8) -> Bool {
        ASCII.isLetter(byte) || ASCII.isDigit(byte) || "_.-".utf8.contains(byte)
    }
}
