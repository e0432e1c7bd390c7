import Foundation

extension JSONReader {
    package mutating func string(_ key: String) -> String? { required(key, Self.string) }
    package mutating func optionalString(_ key: String) -> String? { optional(key, Self.string) }

    /// Reads a required string and converts it, for example with `ActivityID.init`.
    package mutating func string<T>(_ key: String, _ make: (String) throws(JSONFaultReason) -> T) -> T? {
        required(key) { value throws(JSONFaultReason) in try make(Self.string(value)) }
    }

    package mutating func optionalString<T>(_ key: String, _ make: (String) throws(JSONFaultReason) -> T) -> T? {
        optional(key) { value throws(JSONFaultReason) in try make(Self.string(value)) }
    }

    /// The fault lists the enumeration's raw values.
    package mutating func optionalChoice<T>(_ key: String, _ type: T.Type = T.self) -> T?
    where T: RawRepresentable & CaseIterable, T.RawValue == String {
        optional(key, Self.oneOf(type))
    }

    package mutating func optionalBool(_ key: String) -> Bool? { optional(key, Self.bool) }

    package mutating func integer(_ key: String, in range: ClosedRange<Int> = .min ... .max) -> Int? {
        required(key, Self.integer(in: range))
    }

    package mutating func optionalInteger(_ key: String, in range: ClosedRange<Int> = .min ... .max) -> Int? {
        optional(key, Self.integer(in: range))
    }

    package mutating func optionalNumber(_ key: String) -> Double? { optional(key, Self.number) }
    package mutating func timestamp(_ key: String) -> Date? { required(key, Self.timestamp) }
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
