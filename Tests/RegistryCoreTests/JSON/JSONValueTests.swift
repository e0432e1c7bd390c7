import Foundation
import Testing

@testable import RegistryCore

@Suite struct JSONValueTests {
    @Test func `An object keeps its order and the last value of each key`() {
        var object = JSONObject([("b", 1), ("a", 2), ("b", 3)])
        #expect(object.keys == ["b", "a"])
        #expect(object["b"] == 3)
        #expect(object["c"] == nil)
        object["c"] = 4
        object["a"] = nil
        object["x"] = nil
        #expect(object.keys == ["b", "c"])
        #expect(object.map(\.value) == [3, 4])
    }

    @Test(arguments: [12, 13, 14, 500]) func `A large object behaves like a small one`(count: Int) {
        var object = JSONObject((0..<count).map { ("k\($0)", .integer(Int64($0))) })
        for index in 0..<count { object["k\(index)"] = .integer(Int64(index * 2)) }
        #expect(object.keys == (0..<count).map { "k\($0)" })
        #expect((0..<count).allSatisfy { object["k\($0)"] == .integer(Int64($0 * 2)) })
        object["k3"] = nil
        #expect(object["k3"] == nil)
        #expect(object.count == count - 1)
        #expect((4..<count).allSatisfy { object["k\($0)"] == .integer(Int64($0 * 2)) })
        #expect(object[object.endIndex - 1].key == "k\(count - 1)")
    }

    @Test func `The order of members makes no difference`() {
        let one: JSONValue = ["a": 1, "b": ["c": .null, "d": true]]
        let other: JSONValue = ["b": ["d": true, "c": .null], "a": 1]
        #expect(one == other)
        #expect(one.hashValue == other.hashValue)
        #expect(one.canonicalBytes == other.canonicalBytes)
        #expect(one.jsonBytes != other.jsonBytes)
    }

    @Test func `Texts that are only canonically equivalent differ`() {
        let (composed, decomposed) = ("\u{E9}", "e\u{301}")
        #expect(composed == decomposed)
        #expect(JSONValue.string(composed) != JSONValue.string(decomposed))
        let object: JSONObject = [composed: 1, decomposed: 2]
        #expect(object.count == 2)
        #expect(object[composed] == 1)
        #expect(JSONValue.object([composed: 1]) != .object([decomposed: 1]))
    }

    static let different: [JSONValue] = [
        .null, true, false, 0, 1, .number(1e19), 1.5, "", "1", "null", [], [.null], [1], [1, 1], [:], ["a": .null],
        ["a": 1], ["b": 1], ["a": 1, "b": 1], ["a": [:]],
    ]

    @Test func `Values that differ are unequal, and so are their canonical bytes`() {
        for (left, one) in Self.different.enumerated() {
            for (right, other) in Self.different.enumerated() {
                #expect((one == other) == (left == right))
                #expect((one.canonicalBytes == other.canonicalBytes) == (left == right))
            }
        }
        #expect(Set(Self.different).count == Self.different.count)
    }

    static let canonical: [(value: JSONValue, text: String)] = [
        (["b": 1, "a": [true, .null, "x"]], #"{"a":[true,null,"x"],"b":1}"#),
        (
            ["é": 1, "z": 2, "Z": 3, "": 4, "😀": 5, "\u{FFFF}": 6],
            "{\"\":4,\"Z\":3,\"z\":2,\"é\":1,\"\u{FFFF}\":6,\"😀\":5}"
        ),
        (["a/b": "c/d", "\u{1}": "\u{2028}"], "{\"\\u0001\":\"\u{2028}\",\"a/b\":\"c/d\"}"), (.number(-0.0), "0"),
        (.number(1), "1"), (.number(1e300), "1e+300"), (.integer(.min), "-9223372036854775808"),
        (.number(.infinity), "null"),
    ]

    @Test(arguments: canonical) func `The canonical form sorts keys by their bytes`(value: JSONValue, text: String) {
        #expect(String(decoding: value.canonicalBytes, as: UTF8.self) == text)
        #expect(value.description == text)
    }

    @Test func `Members can be looked up in any value`() {
        let value: JSONValue = ["a": ["b": 1]]
        #expect(value["a"]?["b"] == 1)
        #expect(value["a"]?["c"] == nil)
        #expect(JSONValue.array([])["a"] == nil)
        #expect(JSONValue.null.isNull)
        #expect(!value.isNull)
    }
}

extension JSONValueTests {
    /// The measured form is the stored form: `jsonb` writes out the digits of whole numbers.
    @Test(arguments: [
        ("1e18", "1000000000000000000"), ("-1E18", "-1000000000000000000"), ("5.0", "5"), ("1E5", "100000"),
        ("1.50", "1.5"), ("0.1", "0.1"), ("-0", "0"), ("-0.0", "0"), ("0e5", "0"), ("1e19", "1e+19"),
        ("10000000000000000000", "1e+19"), ("9223372036854775807", "9223372036854775807"),
        ("9223372036854775808", "9.223372036854776e+18"), ("9223372036854774784.0", "9223372036854774784"),
        ("-9223372036854775808", "-9223372036854775808"), ("-9223372036854775808.0", "-9223372036854775808"),
        ("123456789012345678901234567890", "1.2345678901234568e+29"), ("1e308", "1e+308"), ("5e-324", "5e-324"),
        ("1e-400", "0"), ("1.7976931348623157e308", "1.7976931348623157e+308"),
    ])
    func `The canonical form of numbers equals Postgres's`(_ text: String, _ canonical: String) throws {
        #expect(try String(decoding: JSONParser.parse(text).canonicalBytes, as: UTF8.self) == canonical)
    }

    @Test func `Metadata is measured in its stored form, and not measured again when read`() throws {
        func metadata(_ count: Int) throws -> JSONValue {
            try JSONParser.parse("{\"a\":[\(repeatElement("1e18", count: count).joined(separator: ","))]}")
        }
        // 8 bytes for the outer members, and 20 for each element except the last.
        #expect(try Metadata(metadata(102)).canonicalJSON.count == 2047)
        #expect(throws: JSONFaultReason.self) { try Metadata(metadata(103)) }
        #expect(try Metadata(stored: metadata(280)).canonicalJSON.count == 5607)
    }

    @Test(arguments: [("1e38", true), ("-1e39", false), ("1e-38", true), ("5e-324", false), ("0.0", true)])
    func `Metadata has no numbers with very many digits`(number: String, isValid: Bool) throws {
        let value = try JSONParser.parse("{\"a\":[[\(number)]]}")
        #expect(((try? Metadata(value)) != nil) == isValid)
    }
}

@Suite struct JSONWriterTests {
    private func text(_ write: (inout JSONWriter) -> Void) -> String {
        var json = JSONWriter(reservingCapacity: 0)
        write(&json)
        return String(decoding: json.bytes, as: UTF8.self)
    }

    static let strings: [(text: String, json: String)] = [
        ("", #""""#), ("plain", #""plain""#), ("a\"b\\c/d", #""a\"b\\c/d""#), ("\u{8}\t\n\u{C}\r", #""\b\t\n\f\r""#),
        ("\u{0}\u{1}\u{B}\u{1F}", #""\u0000\u0001\u000b\u001f""#), ("\u{7F}", "\"\u{7F}\""), ("é漢😀", #""é漢😀""#),
        ("\u{2028}\u{2029}", "\"\u{2028}\u{2029}\""), ("\"", #""\"""#), ("x\n", #""x\n""#), ("\nx", #""\nx""#),
    ]

    @Test(arguments: strings) func `Only the characters that JSON requires are escaped`(text: String, json: String) {
        #expect(self.text { $0.string(text) } == json)
        #expect(self.text { $0.object { $0.member(text, 1) } } == "{\(json):1}")
    }

    @Test func `Commas and colons are written`() {
        let written = text { json in
            json.object { json in
                json.key("a")
                json.array { json in
                    json.integer(1)
                    json.object { _ in }
                    json.array { _ in }
                    json.array { $0.null() }
                    json.string("x")
                }
                json.object("b") { $0.member("c", true) }
                json.array("d") { _ in }
                json.key("e")
                json.raw(Array("[1, 2]".utf8))
                json.hex("f", [0x00, 0xAB, 0xFF])
            }
        }
        #expect(written == #"{"a":[1,{},[],[null],"x"],"b":{"c":true},"d":[],"e":[1, 2],"f":"00abff"}"#)
    }

    @Test func `Members of every type are written, and absent ones omitted`() {
        let written = text { json in
            json.object { json in
                json.member("text", "t")
                json.member("int", Int.min)
                json.member("wide", Int64.max)
                json.member("bool", false)
                json.member("number", 0.1)
                json.member("time", Date(timeIntervalSince1970: 0.5))
                json.member("duration", Duration.seconds(7200))
                json.member("list", ["a", "b"])
                json.member("nothing", Int?.none)
                json.member("left out", ifPresent: String?.none)
                json.member("there", ifPresent: Int?.some(1))
                json.member("fault", JSONFault(pointer: "/a", detail: "is required"))
            }
        }
        let expected =
            #"{"text":"t","int":-9223372036854775808,"wide":9223372036854775807,"bool":false,"number":0.1,"#
            + #""time":"1970-01-01T00:00:00.500Z","duration":"PT2H","list":["a","b"],"nothing":null,"there":1,"#
            + #""fault":{"pointer":"/a","detail":"is required"}}"#
        #expect(written == expected)
    }

    @Test(arguments: [Double.nan, .infinity, -.infinity])
    func `NaN and infinity are written as null`(number: Double) { #expect(text { $0.double(number) } == "null") }

    @Test func `Several values are written as lines`() {
        var json = JSONWriter()
        for number in 1...3 {
            json.array { $0.integer(UInt8(number)) }
            json.newline()
        }
        #expect(String(decoding: json.bytes, as: UTF8.self) == "[1]\n[2]\n[3]\n")
    }
}
