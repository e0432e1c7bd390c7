import RegistryCore
import Testing

@Suite struct IdentifierTests {
    /// Compared with Unicode's general categories.
    @Test func `Only control characters are refused`() {
        for value in UInt32(0)..<0x300 {
            let scalar = Unicode.Scalar(value)!
            let isTaken = (try? ActivityID("a\(Character(scalar))b")) != nil
            #expect(isTaken == (scalar.properties.generalCategory != .control), "U+\(String(value, radix: 16))")
        }
    }

    @Test func `Aliases are compared by their bytes`() throws {
        let (composed, decomposed) = ("caf\u{e9}", "cafe\u{301}")
        let aliases = try [composed, decomposed, composed].map { try Alias(kind: "place", value: $0) }
        #expect(aliases[0] != aliases[1] && aliases[0] == aliases[2])
        #expect(Set(aliases).count == 2)
    }
}
