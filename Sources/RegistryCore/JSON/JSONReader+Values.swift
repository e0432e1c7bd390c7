import Foundation

extension JSONReader {
    /// Reads a string that must be there.
    public mutating func string(_ key: String) -> String? { required(key, Self.string) }
    /// Reads a string that may be absent.
    public mutating func optionalString(_ key: String) -> String? { optional(key, Self.string) }

    /// Reads a string that must be there, and makes a value of it, such as with `ActivityID.init`.
    public mutating func string<T>(_ key: String, _ make: (String) throws(JSONFaultReason) -> T) -> T? {
        required(key) { value throws(JSONFaultReason) in try make(Self.string(value)) }
    }

    /// Reads a string that may be absent, and makes a value of it.
    public mutating func optionalString<T>(_ key: String, _ make: (String) throws(JSONFaultReason) -> T) -> T? {
        optional(key) { value throws(JSONFaultReason) in try make(Self.string(value)) }
    }

    /// Reads a string that must be one of an enumeration's raw values; the fault lists them.
    public mutating func choice<T>(_ key: String, _ type: T.Type = T.self) -> T?
    where T: RawRepresentable & CaseIterable, T.RawValue == String {
        required(key, Self.oneOf(type))
    }

    /// Reads a string that may be absent, else is one of an enumeration's raw values; the fault lists them.
    public mutating func optionalChoice<T>(_ key: String, _ type: T.Type = T.self) -> T?
    where T: RawRepresentable & CaseIterable, T.RawValue == String {
        optional(key, Self.oneOf(type))
    }

    /// Reads `true` or `false`, which must be there.
    public mutating func bool(_ key: String) -> Bool? { required(key, Self.bool) }
    /// Reads `true` or `false`, which may be absent.
    public mutating func optionalBool(_ key: String) -> Bool? { optional(key, Self.bool) }

    /// Reads an integer that must be there and lie in the range.
    public mutating func integer(_ key: String, in range: ClosedRange<Int> = .min ... .max) -> Int? {
        required(key, Self.integer(in: range))
    }

    /// Reads an integer that may be absent, else lies in the range.
    public mutating func optionalInteger(_ key: String, in range: ClosedRange<Int> = .min ... .max) -> Int? {
        optional(key, Self.integer(in: range))
    }

    /// Reads a number that must be there.
    public mutating func number(_ key: String) -> Double? { required(key, Self.number) }
    /// Reads a number that may be absent.
    public mutating func optionalNumber(_ key: String) -> Double? { optional(key, Self.number) }

    /// Reads an RFC 3339 time that must be there.
    public mutating func timestamp(_ key: String) -> Date? { required(key, Self.timestamp) }
    /// Reads an RFC 3339 time that may be absent.
    public mutating func optionalTimestamp(_ key: String) -> Date? { optional(key, Self.timestamp) }

    /// Reads an ISO 8601 duration that must be there.
    public mutating func duration(_ key: String) -> Duration? { required(key, Self.duration) }
    /// Reads an ISO 8601 duration that may be absent.
    public mutating func optionalDuration(_ key: String) -> Duration? { optional(key, Self.duration) }

    /// Reads an object that must be there, as it is.
    public mutating func object(_ key: String) -> JSONObject? { required(key, Self.object) }
    /// Reads an object that may be absent, as it is.
    public mutating func optionalObject(_ key: String) -> JSONObject? { optional(key, Self.object) }

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
