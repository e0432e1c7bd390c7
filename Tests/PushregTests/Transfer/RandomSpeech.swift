import Foundation
import RegistryCore
import TestSupport

/// Generates valid but unusual input.
struct RandomSpeech: RandomNumberGenerator {
    private var numbers: SeededGenerator
    private var count = 0

    init(seed: UInt64) { numbers = SeededGenerator(seed: seed) }
    mutating func next() -> UInt64 { numbers.next() }

    private static let pieces = [
        "K", "\u{212A}", "\u{E9}", "e\u{301}", "\u{301}", "\u{C5}", "\u{212B}", "\u{37E}", ";", " ", "/", "%2F", "%",
        "\"", "\\", "'", "\u{1F355}", "\u{1F469}\u{200D}\u{1F467}", "\u{2028}", "\u{FFFF}", "\u{FEFF}", "\u{202E}",
        "null", "..", ".", "?", "#", "&", "=", "+", ":", "<b>", "{", "}", "a", "0",
    ]

    mutating func text(upTo bytes: Int = 128) -> String {
        let isLong = Int.random(in: 0..<10, using: &self) == 0
        var text = ""
        for _ in 0..<(isLong ? bytes : Int.random(in: 1...6, using: &self)) {
            let piece = Self.pieces.randomElement(using: &self)!
            if text.utf8.count + piece.utf8.count <= bytes {
                text.unicodeScalars.append(contentsOf: piece.unicodeScalars)
            }
        }
        return text == "." || text == ".." ? text + "x" : text
    }

    mutating func name(upTo bytes: Int = 128) -> String {
        count += 1
        // An installation id begins with no space.
        return "n" + text(upTo: bytes - 9) + "\(count)"
    }

    mutating func token() -> String {
        count += 1
        let digits = String(count, radix: 16)
        let length = [8, 32, 80, 512].randomElement(using: &self)!
        return String(repeating: "0", count: length * 2 - digits.count) + digits
    }

    mutating func time(minutesAgo range: ClosedRange<Double>) -> String {
        let minutes = Double.random(in: range, using: &self)
        return RFC3339.format(Date().addingTimeInterval(-minutes * 60), precision: .microseconds)
    }

    /// `{"kind": "value" | ["value", …]}`, and its aliases.
    mutating func aliases() -> (json: String, aliases: [Alias]) {
        var (members, aliases): ([String], [Alias]) = ([], [])
        for kind in ["liveactivityId", "userId", "K", "a.b_c-D"].shuffled(using: &self).prefix(Int(next() % 4)) {
            let values = (0..<Int.random(in: 1...4, using: &self)).map { _ in text(upTo: 256) }
            aliases += values.compactMap { try? Alias(kind: kind, value: $0) }
            let isOne = values.count == 1 && Bool.random(using: &self)
            let texts = values.map(Self.quoted).joined(separator: ",")
            members.append("\"\(kind)\":\(isOne ? texts : "[\(texts)]")")
        }
        return ("{\(members.joined(separator: ","))}", aliases)
    }

    static func quoted(_ text: String) -> String { JSONValue.string(text).description }

    static func escaped(_ text: String) -> String {
        text.utf8.map { byte in
            let isPlain = UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte || UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte
            return isPlain ? String(UnicodeScalar(byte)) : "%" + Hexadecimal.encode([byte])
        }.joined()
    }
}

extension RandomSpeech {
    private static let numbers = [
        "0", "-0", "-0.0", "5.0", "0.1", "1E5", "1.50", "1e18", "-1e18", "1e19", "1e308", "5e-324", "1e-400", "1e-7",
        "9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809",
        "123456789012345678901234567890", "2.2250738585072014e-308", "1.7976931348623157e308", "0.30000000000000004",
    ]

    private static let strings = [
        #""""#, #""\u0001""#, #""\u001f\u007f\u0085""#, #""\ud83c\udf55""#, #""\u212a""#, #""K""#, #""e\u0301""#,
        #""\u00e9""#, #""\\\"\/\b\n""#, #""\uffff""#, #""1e18""#,
    ]

    /// Any JSON for metadata, in different spellings.
    mutating func json(depth: Int = 4) -> String {
        switch Int.random(in: 0..<(depth > 0 ? 9 : 6), using: &self) {
        case 0...2: return Self.numbers.randomElement(using: &self)!
        case 3, 4: return Self.strings.randomElement(using: &self)!
        case 5: return ["null", "true", " false "].randomElement(using: &self)!
        case 6:
            let elements = (0..<Int.random(in: 0...5, using: &self)).map { _ in json(depth: depth - 1) }
            return "[\(elements.joined(separator: ", "))]"
        default: return object(depth: depth)
        }
    }

    mutating func object(depth: Int = 4) -> String {
        let members = (0..<Int.random(in: 0...5, using: &self)).map { _ in
            "\(Self.strings.randomElement(using: &self)!) : \(json(depth: depth - 1))"
        }
        return "{\(members.joined(separator: ","))}"
    }

    /// Metadata, sometimes with the maximum size or depth.
    mutating func metadata() throws -> String {
        switch Int.random(in: 0..<10, using: &self) {
        case 0: return #"{"a":[\#(repeatElement("1e18", count: 102).joined(separator: ","))]}"#
        case 1: return #"{"x":"\#(String(repeating: "y", count: Metadata.maximumBytes - 8))"}"#
        case 2: return #"{"d":\#(String(repeating: "[", count: 28) + String(repeating: "]", count: 28))}"#
        default:
            let text = object()
            return (try? Metadata(JSONParser.parse(text))) == nil ? "{}" : text
        }
    }
}
