import Testing

@testable import RegistryCore

@Suite struct JSONParserTests {
    static let valid: [(text: String, value: JSONValue)] = [
        ("null", .null), ("true", true), (" false\r\n\t", false), ("0", 0), ("-0", 0), ("42", 42), ("-7", -7),
        ("9223372036854775807", .integer(.max)), ("-9223372036854775808", .integer(.min)),
        ("9223372036854775808", .number(9_223_372_036_854_775_808)),
        ("-9223372036854775809", .number(-9_223_372_036_854_775_808)), ("1.0", .number(1)), ("0.5", .number(0.5)),
        ("1e3", .number(1000)), ("1E+3", .number(1000)), ("12.5e-1", .number(1.25)), ("-0.0", .number(0)),
        ("0e1", .number(0)), ("1e-400", .number(0)), ("1.7976931348623157e308", .number(.greatestFiniteMagnitude)),
        (#""""#, ""), (#""abc""#, "abc"), (#""é漢😀""#, "é漢😀"), (#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{C}\n\r\t"),
        (#""\u0041\u00e9\u6F22""#, "Aé漢"), (#""\ud83d\uDE00!""#, "😀!"),
        (#""\uD800\uDC00\udbff\udfff""#, "\u{10000}\u{10FFFF}"),
        (#""\u0000""#, "\u{0}"), (#""\uFFFF""#, "\u{FFFF}"), ("\"\u{7F}\u{2028}\"", "\u{7F}\u{2028}"),
        (#""é\n漢""#, "é\n漢"),
        ("[]", []), ("[ ]", []), ("[1,\"a\" , null]", [1, "a", .null]), ("[[[]]]", [[[]]]),
        ("{}", [:]), ("{ }", [:]), (#"{"a":1}"#, ["a": 1]),
        (#" { "a" : [ { "b" : true } ] , "" : 2 } "#, ["a": [["b": true]], "": 2]),
        (#"{"a":1,"b":2,"a":3}"#, ["a": 3, "b": 2]), (#"{"\u0061":1,"a":2}"#, ["a": 2]),
    ]

    @Test(arguments: valid) func `Texts that are valid in RFC 8259 are parsed`(text: String, value: JSONValue) throws {
        #expect(try JSONParser.parse(text) == value)
    }

    static let invalid: [(text: String, offset: Int)] = [
        ("", 0), ("  ", 2), ("nul", 0), ("nulL", 0), ("True", 0), ("nullx", 4), ("null null", 5), ("\u{FEFF}null", 0),
        ("NaN", 0), ("Infinity", 0), ("-Infinity", 1), ("-", 1), ("+1", 0), (".5", 0), ("01", 1), ("-01", 2), ("00", 1),
        ("1.", 2), ("1.e3", 2), ("1e", 2), ("1e+", 3), ("0x10", 1), ("1,", 1), ("1 2", 2), ("1e309", 0),
        ("[-1e400]", 1),
        ("\"", 1), ("\"abc", 4), ("\"a\u{1}\"", 2), ("\"a\nb\"", 2), ("\"\u{0}\"", 1), ("'a'", 0), (#""a\"#, 3),
        (#""a\""#, 4),
        (#""\x41""#, 1), (#""\U0041""#, 1), (#""\u004""#, 1), (#""\u00g0""#, 1), (#""ab\u+123""#, 3), (#""\u""#, 1),
        (#""\ud83d""#, 1), (#""\ude00""#, 1), (#""\ud83d\ud83d""#, 1), (#""\ud83dx""#, 1), (#""\ud83d\n""#, 1),
        (#""\ud83d\u0041""#, 1),
        (#""a\ud83d\u""#, 8), (#""\uDE00\uD83D""#, 1), ("\"\\\u{1}\"", 1), (#""\"#, 2), (#""\é""#, 1),
        ("[", 1), ("[1", 2), ("[1,", 3), ("[1,]", 3), ("[,1]", 1), ("[1 2]", 3), ("]", 0), ("[1}", 2), ("[1]]", 3),
        ("{", 1), ("{\"a\"", 4), ("{\"a\":", 5), ("{\"a\":}", 5), ("{\"a\" 1}", 5), ("{\"a\":1", 6), ("{\"a\":1,", 7),
        ("{\"a\":1,}", 7),
        ("{a:1}", 1), ("{1:2}", 1), ("{\"a\":1 \"b\":2}", 7), ("{,}", 1), ("}", 0), ("{\"a\":1]", 6), ("//c\n1", 0),
        ("[1/**/]", 2),
        ("\u{A0}1", 0), ("\u{B}1", 0),
    ]

    @Test(arguments: invalid)
    func `An invalid text is rejected with the position of the error`(text: String, offset: Int) throws {
        let error = try #require(throws: JSONSyntaxError.self) { try JSONParser.parse(text) }
        #expect(error.offset == offset)
        #expect(error.detail.hasSuffix("."))
        #expect(error.description == "Byte \(offset): \(error.detail)")
    }

    static let malformedUTF8: [(bytes: [UInt8], offset: Int)] = [
        ([0x80], 0), ([0xBF], 0), ([0xC0, 0x80], 0), ([0xC1, 0xBF], 0), ([0x61, 0xC3], 1), ([0xC3, 0x28], 0),
        ([0xE0, 0x80, 0x80], 0),
        ([0xE2, 0x82], 0), ([0xED, 0xA0, 0x80], 0), ([0xED, 0xBF, 0xBF], 0), ([0xF0, 0x80, 0x80, 0x80], 0),
        ([0xF4, 0x90, 0x80, 0x80], 0), ([0xF5, 0x80, 0x80, 0x80], 0), ([0xFF], 0), ([0xFE], 0),
        ([0xC3, 0xA9, 0xFF], 2),
        ([0x5C, 0x6E, 0xFF], 2), ([0xF0, 0x9F, 0x98], 0),
    ]

    @Test(arguments: malformedUTF8)
    func `Strings and keys that are not UTF-8 are refused`(bytes: [UInt8], offset: Int) throws {
        let string = [0x22] + bytes + [0x22]
        let key = [0x7B] + string + [0x3A, 0x31, 0x7D]
        #expect(try #require(throws: JSONSyntaxError.self) { try JSONParser.parse(string) }.offset == offset + 1)
        #expect(try #require(throws: JSONSyntaxError.self) { try JSONParser.parse(key) }.offset == offset + 2)
    }

    @Test(arguments: [1, 2, 32, JSONParser.deepestNesting]) func `Nesting is limited`(depth: Int) throws {
        let text = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        _ = try JSONParser.parse(text, maximumDepth: depth)
        let objects = String(repeating: "{\"a\":", count: depth) + "1" + String(repeating: "}", count: depth)
        _ = try JSONParser.parse(objects, maximumDepth: depth)
        let error = try #require(throws: JSONSyntaxError.self) {
            try JSONParser.parse("[" + text + "]", maximumDepth: depth)
        }
        #expect(error.offset == depth)
    }

    @Test func `Nested brackets never overflow the stack`() {
        let brackets = [UInt8](repeating: UInt8(ascii: "["), count: 1 << 20)
        #expect(throws: JSONSyntaxError.self) { try JSONParser.parse(brackets, maximumDepth: .max) }
        let objects = String(repeating: "{\"a\":", count: 1 << 18)
        #expect(throws: JSONSyntaxError.self) { try JSONParser.parse(objects, maximumDepth: .max) }
        #expect(throws: JSONSyntaxError.self) { try JSONParser.parse("[]", maximumDepth: 0) }
        #expect(throws: Never.self) { try JSONParser.parse("1", maximumDepth: 0) }
    }

    @Test func `The length of a number is limited`() throws {
        let long = "0." + String(repeating: "1", count: 1022)
        #expect(try JSONParser.parse(long) == .number(0.1111111111111111))
        #expect(try #require(throws: JSONSyntaxError.self) { try JSONParser.parse("[" + long + "1]") }.offset == 1)
    }

    @Test func `Slices, lazy collections and raw buffers give equal values`() throws {
        let bytes = Array("x[1,\"é\"]x".utf8)
        let expected: JSONValue = [1, "é"]
        #expect(try JSONParser.parse(bytes[1..<(bytes.count - 1)]) == expected)
        #expect(try JSONParser.parse(bytes.dropFirst().dropLast().lazy.map { $0 }) == expected)
        let fromRaw = try bytes.withUnsafeBytes { try JSONParser.parse($0.dropFirst().dropLast()) }
        #expect(fromRaw == expected)
    }
}
