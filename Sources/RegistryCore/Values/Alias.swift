/// A business name of activities, such as (`liveactivityId`, `order-42`).
///
/// Equality is equality of bytes. Many activities can share an alias.
package struct Alias: Sendable, Hashable, Comparable, CustomStringConvertible, JSONObjectEncodable {
    /// `[A-Za-z][A-Za-z0-9_.-]{0,63}`.
    package let kind: UTF8Text
    /// 1 to 256 bytes of UTF-8 without control characters, never `.` or `..`.
    package let value: UTF8Text

    package init(kind: String, value: String) throws(JSONFaultReason) {
        self.kind = try Self.kind(kind)
        self.value = try Self.value(value)
    }

    package init(checkedKind kind: UTF8Text, value: UTF8Text) { (self.kind, self.value) = (kind, value) }

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

    package var description: String { "\(kind):\(value)" }

    package static func < (left: Alias, right: Alias) -> Bool {
        left.kind == right.kind ? left.value < right.value : left.kind < right.kind
    }

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

/// The aliases of one activity, in JSON `{"kind": "value" | ["value", …]}`.
package struct AliasSet: Sendable, Hashable {
    package let aliases: [Alias]
    package static let maximumCount = 16

    package init(_ aliases: some Sequence<Alias>) throws(JSONFaultReason) {
        let sorted = Set(aliases).sorted()
        guard sorted.count <= Self.maximumCount else {
            throw JSONFaultReason("must hold at most \(Self.maximumCount) aliases")
        }
        self.aliases = sorted
    }

    package init(stored aliases: [Alias]) {
        let isSorted = zip(aliases, aliases.dropFirst()).allSatisfy { $0 < $1 }
        self.aliases = isSorted ? aliases : Set(aliases).sorted()
    }

    /// `{"kind":["value",…],…}` in byte order. This form is stored, and it breaks ties.
    package var canonicalJSON: [UInt8] {
        var json = JSONWriter(reservingCapacity: 2 + 64 * aliases.count)
        json.object { json in
            var rest = aliases[...]
            while let kind = rest.first?.kind {
                json.array(kind.string) { json in
                    while let alias = rest.first, alias.kind == kind {
                        json.string(alias.value.string)
                        rest.removeFirst()
                    }
                }
            }
        }
        return json.bytes
    }

    package static func read(_ json: inout JSONReader) -> AliasSet? {
        let kinds = json.object.filter { !$0.value.isNull }.map(\.key)
        let aliases = kinds.flatMap { read(kind: $0, &json) }
        do throws(JSONFaultReason) {
            return try AliasSet(aliases)
        } catch {
            json.fault(nil, error.detail)
            return nil
        }
    }

    private static func read(kind name: String, _ json: inout JSONReader) -> [Alias] {
        do throws(JSONFaultReason) {
            let kind = try Alias.kind(name)
            return json.oneOrMore(name) { value throws(JSONFaultReason) in
                try Alias(checkedKind: kind, value: Alias.value(String.read(value)))
            } ?? []
        } catch {
            json.fault(name, error.detail)
            return []
        }
    }
}
