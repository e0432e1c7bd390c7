/// A business name of activities, such as (`liveactivityId`, `order-42`).
///
/// Equality is equality of bytes. Many activities can share an alias.
package struct Alias: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// `[A-Za-z][A-Za-z0-9_.-]{0,63}`.
    package let kind: UTF8Text
    /// 1 to 256 bytes of UTF-8 without control characters, never `.` or `..`.
    package let value: UTF8Text

    package init(kind: String, value: String) throws(JSONFaultReason) {
        self.kind = try Self.kind(kind)
        self.value = try Self.value(value)
    }

    /// Does not check the parts again.
    package init(checkedKind kind: UTF8Text, value: UTF8Text) {
        self.kind = kind
        self.value = value
    }

    /// Reads `kind:value`. A kind has no colon.
    package init(pair text: String) throws(JSONFaultReason) {
        guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) else {
            throw JSONFaultReason("must be kind:value, such as liveactivityId:order-42")
        }
        try self.init(kind: String(text[..<colon]), value: String(text[text.utf8.index(after: colon)...]))
    }

    package static func kind(_ text: String) throws(JSONFaultReason) -> UTF8Text {
        let bytes = text.utf8
        let beginsWithLetter = bytes.first.map(ASCII.isLetter) ?? false
        guard beginsWithLetter, bytes.count <= 64, bytes.allSatisfy({ ASCII.isWord($0, or: "_.-") }) else {
            throw JSONFaultReason("an alias kind must match [A-Za-z][A-Za-z0-9_.-]{0,63}")
        }
        return UTF8Text(text)
    }

    package static func value(_ text: String) throws(JSONFaultReason) -> UTF8Text {
        try UTF8Text(name: text, maximumBytes: 256)
    }

    /// The alias kind that `POST …/activities` accepts.
    package static let liveActivityKind: UTF8Text = "liveactivityId"

    /// `kind:value`, as ``init(pair:)`` reads it.
    package var description: String { "\(kind):\(value)" }

    package static func < (left: Alias, right: Alias) -> Bool {
        left.kind == right.kind ? left.value < right.value : left.kind < right.kind
    }
}

extension Alias: JSONObjectEncodable {
    package static func read(_ json: inout JSONReader) -> Alias? {
        let kind = json.string("kind", Alias.kind)
        let value = json.string("value", Alias.value)
        guard let kind, let value else { return nil }
        return Alias(checkedKind: kind, value: value)
    }

    package func writeMembers(to json: inout JSONWriter) {
        json.member("kind", kind)
        json.member("value", value)
    }
}
