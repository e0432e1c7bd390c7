import Foundation

extension JSONReader {
    /// Reads a string that must be there.
    package mutating func string(_ key: String) -> String? { required(key, Self.string) }
    /// Reads a string that may be absent.
    package mutating func optionalString(_ key: String) -> String? { optional(key, Self.string) }

    /// Reads a string that must be there, and makes a value of it, such as with `ActivityID.init`.
    package mutating func string<T>(_ key: String, _ make: (String) throws(JSONFaultReason) -> T) -> T? {
        required(key) { value throws(JSONFaultReason) in try make(Self.string(value)) }
    }

    /// Reads a string that may be absent, and makes a value of it.
    package mutating func optionalString<T>(_ key: String, _ make: (String) throws(JSONFaultReason) -> T) -> T? {
        optional(key) { value throws(JSONFaultReason) in try make(Self.string(value)) }
    }

    /// Reads a string that may be absent, else is one of an enumeration's raw values; the fault lists them.
    package mutating func optionalChoice<T>(_ key: String, _ type: T.Type = T.self) -> T?
    where T: RawRepresentable & CaseIterable, T.RawValue == String {
        optional(key, Self.oneOf(type))
    }

    /// Reads `true` or `false`, which may be absent.
    package mutating func optionalBool(_ key: String) -> Bool? { optional(key, Self.bool) }

    /// Reads an integer that must be there and lie in the range.
    package mutating func integer(_ key: String, in range: ClosedRange<Int> = .min ... .max) -> Int? {
        required(key, Self.integer(in: range))
    }

    /// Reads an integer that may be absent, else lies in the range.
    package mutating func optionalInteger(_ key: String, in range: ClosedRange<Int> = .min ... .max) -> Int? {
        optional(key, Self.integer(in: range))
    }

    /// Reads a number that may be absent.
    package mutating func optionalNumber(_ key: String) -> Double? { optional(key, Self.number) }

    /// Reads an RFC 3339 time that must be there.
    package mutating func timestamp(_ key: String) -> Date? { required(key, Self.timestamp) }
    /// Reads an RFC 3339 time that may be absent.
    package mutating func optionalTimestamp(_ key: String) -> Date? { optional(key, Self.timestamp) }

    private static func integer(in range: ClosedRange<Int>) -> (JSONValue) throws(JSONFaultReason) -> Int {
        { value throws(JSONFaultReason) in
            let integer = try Self.integer(value)
            guard range.contains(integer) else {
                throw JSONFaultReason("must be an integer from \(range.lowerBound) to \(range.upperBound)")
            }
            return integer
        }
    }

    private static func oneOf<T>(_ type: T.Type) -> (JSONValue) throws(JSONFaultReason) -> T
    where T: RawRepresentable & CaseIterable, T.RawValue == String {
        { value throws(JSONFaultReason) in
            guard case .string(let word) = value, let choice = T(rawValue: word) else {
                let words = T.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: ", ")
                throw JSONFaultReason("must be one of \(words)")
            }
            return choice
        }
    }
}
