import TestSupport

@testable import RegistryCore

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
