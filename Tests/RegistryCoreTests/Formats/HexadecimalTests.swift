import Testing

@testable import RegistryCore

@Suite struct HexadecimalTests {
    static let valid: [(text: String, bytes: [UInt8])] = [
        ("", []), ("00", [0]), ("ff", [255]), ("FF", [255]), ("aBcD09", [0xAB, 0xCD, 0x09]),
    ]

    @Test(arguments: valid)
    func `Upper and lower case are parsed, and lower case is written`(text: String, bytes: [UInt8]) {
        #expect(Hexadecimal.decode(text) == bytes)
        #expect(Hexadecimal.encode(bytes) == text.lowercased())
    }

    static let invalid = [
        "0", "abc", "0g", "g0", " 0", "0x", "-1", "00 ", "é", "０0", "00\u{0}0", "/0", ":0", "@0", "G0", "`0",
    ]

    @Test(arguments: invalid) func `Odd lengths and other characters are rejected`(text: String) {
        #expect(Hexadecimal.decode(text) == nil)
    }

    @Test func `Every byte survives a round trip`() {
        let bytes = Array(UInt8.min...UInt8.max)
        #expect(Hexadecimal.decode(Hexadecimal.encode(bytes)) == bytes)
        #expect(Hexadecimal.decode(Hexadecimal.encode(bytes).uppercased()) == bytes)
        var appended = Array("x".utf8)
        Hexadecimal.append(bytes.lazy.map { $0 }, to: &appended)
        #expect(String(decoding: appended, as: UTF8.self) == "x" + Hexadecimal.encode(bytes))
    }
}
