import Foundation
import TestSupport
import Testing

@testable import RegistryCore

@Suite(.timeLimit(.minutes(15))) struct JSONRandomTests {
    @Test func `10,000 random values survive a round trip, also through Foundation`() throws {
        var generator = SeededGenerator(seed: 1)
        for _ in 0..<10_000 {
            let value = generator.value(depth: 4)
            #expect(try JSONParser.parse(value.jsonBytes) == value)
            let canonical = value.canonicalBytes
            #expect(Self.isSame(try JSONParser.parse(canonical), value))
            #expect(try JSONParser.parse(canonical).canonicalBytes == canonical)
            #expect(Self.isSame(try Self.throughFoundation(value), value))
        }
    }

    private static func throughFoundation(_ value: JSONValue) throws -> JSONValue {
        let object = try JSONSerialization.jsonObject(with: Data(value.jsonBytes), options: .fragmentsAllowed)
        let text = try JSONSerialization.data(withJSONObject: object, options: [.fragmentsAllowed, .prettyPrinted])
        return try JSONParser.parse(text)
    }

    private static func isSame(_ left: JSONValue, _ right: JSONValue) -> Bool {
        switch (left, right) {
        case (.array(let left), .array(let right)):
            left.count == right.count && zip(left, right).allSatisfy { isSame($0, $1) }
        case (.object(let left), .object(let right)):
            left.count == right.count && left.allSatisfy { isSame($0.value, right[$0.key] ?? .null) }
        case (.integer(let left), .number(let right)), (.number(let right), .integer(let left)): Double(left) == right
        default: left == right
        }
    }

    @Test func `50,000 mutated texts are rejected or survive a round trip`() throws {
        var generator = SeededGenerator(seed: 2)
        var accepted = 0
        for _ in 0..<50_000 {
            var bytes = generator.value(depth: 3).jsonBytes
            for _ in 0..<Int.random(in: 1...4, using: &generator) { generator.mutate(&bytes) }
            guard let value = try Self.outcome(of: bytes) else { continue }
            accepted += 1
            #expect(Self.isSame(try JSONParser.parse(value.canonicalBytes), value))
            #expect(throws: Never.self) {
                try JSONSerialization.jsonObject(with: Data(bytes), options: .fragmentsAllowed)
            }
        }
        #expect((1000..<49_000).contains(accepted), "\(accepted)")
    }

    /// The value, or nil for a syntax error inside the text.
    private static func outcome(of bytes: [UInt8]) throws -> JSONValue? {
        do throws(JSONSyntaxError) {
            return try JSONParser.parse(bytes)
        } catch {
            #expect((0...bytes.count).contains(error.offset))
            return nil
        }
    }

    static let large: [(name: String, text: @Sendable () -> String, isValid: Bool)] = [
        ("a plain string", { "\"" + String(repeating: "a", count: 1 << 20) + "\"" }, true),
        ("a string of escapes", { "\"" + String(repeating: "\\n", count: 1 << 19) + "\"" }, true),
        ("a string of surrogate pairs", { "\"" + String(repeating: "\\ud83d\\ude00", count: 1 << 17) + "\"" }, true),
        ("a string without end", { "\"" + String(repeating: "é", count: 1 << 19) }, false),
        ("a string of backslashes without end", { "\"" + String(repeating: "\\", count: 1 << 20) }, false),
        ("a number", { String(repeating: "1", count: 1 << 20) }, false),
        ("blanks", { String(repeating: " ", count: 1 << 20) }, false),
        ("an array", { "[" + String(repeating: "1,", count: 1 << 19) + "1]" }, true),
        ("one key again and again", { "{" + String(repeating: "\"a\":1,", count: 1 << 18) + "\"a\":2}" }, true),
        ("many keys", { "{" + (0..<(1 << 17)).map { "\"k\($0)\":\($0)" }.joined(separator: ",") + "}" }, true),
        ("many unclosed strings", { "[" + String(repeating: "\"", count: 1 << 20) }, false),
    ]

    // Quadratic time would be hours for a megabyte, so the suite's time limit detects it.
    @Test(arguments: large.indices) func `Parsing takes linear time`(index: Int) throws {
        let value = try? JSONParser.parse(Array(Self.large[index].text().utf8))
        #expect((value != nil) == Self.large[index].isValid, "\(Self.large[index].name)")
        if let value { #expect(try JSONParser.parse(value.canonicalBytes) == value) }
    }
}

extension SeededGenerator {
    private static let scalars: [Unicode.Scalar] = [
        "a", "b", "Z", "0", " ", "/", "~", "\"", "\\", "\n", "\t", "\u{0}", "\u{8}", "\u{1F}", "\u{7F}", "é", "ß", "漢",
        "\u{2028}", "\u{FFFD}", "\u{FFFF}", "😀", "\u{10FFFF}",
    ]

    /// A short text of difficult characters, without combining ones.
    mutating func text() -> String {
        var text = String.UnicodeScalarView()
        for _ in 0..<Int.random(in: 0...12, using: &self) { text.append(Self.scalars.randomElement(using: &self)!) }
        return String(text)
    }

    mutating func number() -> Double {
        let number = Double(bitPattern: next())
        return number.isFinite && Bool.random(using: &self) ? number : Double.random(in: -1000...1000, using: &self)
    }

    mutating func integer() -> Int64 {
        [Int64.random(in: .min ... .max, using: &self), .random(in: -9...9, using: &self), .min, .max]
            .randomElement(using: &self)!
    }

    /// - Parameter depth: the maximum depth of nesting.
    mutating func value(depth: Int) -> JSONValue {
        switch Int.random(in: 0..<(depth > 0 ? 8 : 5), using: &self) {
        case 0: return .null
        case 1: return .bool(.random(using: &self))
        case 2: return .integer(integer())
        case 3: return .number(number())
        case 4: return .string(text())
        case 5: return .array((0..<Int.random(in: 0...5, using: &self)).map { _ in value(depth: depth - 1) })
        default:
            let members = (0..<Int.random(in: 0...5, using: &self)).map { _ in (text(), value(depth: depth - 1)) }
            return .object(JSONObject(members))
        }
    }
}
