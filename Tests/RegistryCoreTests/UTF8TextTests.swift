import RegistryCore
import Testing

@Suite(.timeLimit(.minutes(15))) struct UTF8TextTests {
    /// Texts that are equal as `String` and have different bytes.
    @Test(arguments: [
        ("\u{212A}-1", "K-1"), ("caf\u{E9}", "cafe\u{301}"), ("\u{212B}", "\u{C5}"), ("\u{37E}", ";"),
        ("\u{1E9B}\u{323}", "\u{17F}\u{323}\u{307}"), ("\u{AC00}", "\u{1100}\u{1161}"),
    ])
    func `Texts that are equal as Strings differ if their bytes differ`(_ one: String, _ other: String) throws {
        // The control: they are equal as `String`.
        #expect(one == other)
        #expect(Set([one, other]).count == 1)
        let (left, right) = (UTF8Text(one), UTF8Text(other))
        #expect(left != right)
        #expect(Set([left, right]).count == 2)
        #expect((left < right) == one.utf8.lexicographicallyPrecedes(other.utf8))
        #expect((left < right) != (right < left))
        #expect([left: 1, right: 2][right] == 2)
        #expect(try ActivityID(one) != ActivityID(other))
        #expect(try InstallationID(one) != InstallationID(other))
        #expect(try AttributesType(one) != AttributesType(other))
        let aliases = try [one, other].map { try Alias(kind: "orderId", value: $0) }
        #expect(try AliasSet(aliases).aliases.count == 2 && aliases[0] != aliases[1])
        #expect(ActivityOwner.subject(left) != .subject(right))
    }

    @Test func `Equal bytes are equal texts`() {
        for text in ["", "a", "caf\u{E9}", String(repeating: "\u{1F355}", count: 40)] {
            // A copy from bytes, which shares no storage.
            let copy = String(decoding: Array(text.utf8), as: UTF8.self)
            #expect(UTF8Text(text) == UTF8Text(copy))
            #expect(UTF8Text(text).hashValue == UTF8Text(copy).hashValue)
            #expect(!(UTF8Text(text) < UTF8Text(copy)))
        }
    }

    @Test func `Texts are sorted by their bytes`() {
        let texts = ["", "a", "a\u{301}", "aa", "b", "\u{E9}", "\u{212A}", "\u{FF}", "\u{1F355}", "\u{FFFF}", "K", "k"]
        let sorted = texts.map { UTF8Text($0) }.sorted().map(\.string)
        let expected = texts.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        // Compared as bytes, because two of the texts may be equal as `String`.
        #expect(sorted.map { Array($0.utf8) } == expected.map { Array($0.utf8) })
    }

    /// A combining mark after a prefix does not change the prefix.
    @Test func `Prefixes are compared by bytes`() {
        let text: UTF8Text = "subject:\u{301}x"
        #expect(!text.string.hasPrefix("subject:"))
        #expect(text.hasPrefix("subject:") && text.dropping(prefix: "subject:") == "\u{301}x")
        #expect(!text.hasPrefix("subject;") && !UTF8Text("sub").hasPrefix("subject:"))
    }

    @Test(arguments: [".", "..", "u-1", "\u{301}x", String(repeating: "é", count: 64)])
    func `Any text without control characters can be a subject`(_ text: String) throws {
        #expect(try UTF8Text.subject(text) == UTF8Text(text))
    }

    @Test(arguments: ["", "a\0", "\u{7F}", "a\u{85}", String(repeating: "é", count: 64) + "x"])
    func `Empty, overlong and control texts are rejected as subjects`(_ text: String) {
        #expect(throws: JSONFaultReason.self) { try UTF8Text.subject(text) }
    }

    @Test(arguments: [" i", "i "]) func `An installation id that header fields cannot name is refused`(_ text: String) {
        #expect(throws: JSONFaultReason.self) { try InstallationID(text) }
        #expect(throws: Never.self) { try ActivityID(text) }
    }

    /// Compared with Unicode's general categories.
    @Test func `Only control characters are refused`() {
        for value in UInt32(0)..<0x300 {
            let scalar = Unicode.Scalar(value)!
            let isTaken = (try? ActivityID("a\(Character(scalar))b")) != nil
            #expect(isTaken == (scalar.properties.generalCategory != .control), "U+\(String(value, radix: 16))")
        }
    }
}
