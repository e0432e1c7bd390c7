import Foundation
import Testing

@testable import RegistryCore

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
    func `NaN and infinity are written as null`(number: Double) {
        #expect(text { $0.double(number) } == "null")
    }

    @Test func `Several values are written as lines`() {
        var json = JSONWriter()
        for number in 1...3 {
            json.array { $0.integer(UInt8(number)) }
            json.newline()
        }
        #expect(String(decoding: json.bytes, as: UTF8.self) == "[1]\n[2]\n[3]\n")
    }
}
