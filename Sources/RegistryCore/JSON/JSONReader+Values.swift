extension JSONReader {
    /// Reads a required string and converts it, for example with `ActivityID.init`.
    package mutating func string<T>(_ key: String, _ make: (String) throws(JSONFaultReason) -> T) -> T? {
        required(key) { value throws(JSONFaultReason) in try make(String.read(value)) }
    }

    package mutating func optionalString<T>(_ key: String, _ make: (String) throws(JSONFaultReason) -> T) -> T? {
        optional(key) { value throws(JSONFaultReason) in try make(String.read(value)) }
    }

    /// The fault lists the enumeration's raw values.
    package mutating func optionalChoice<T>(_ key: String, _ type: T.Type = T.self) -> T?
    where T: RawRepresentable & CaseIterable, T.RawValue == String {
        optional(key) { value throws(JSONFaultReason) in
            guard case .string(let word) = value, let choice = T(rawValue: word) else {
                let words = T.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: ", ")
                throw JSONFaultReason("must be one of \(words)")
            }
            return choice
        }
    }

    package mutating func integer(_ key: String, in range: ClosedRange<Int>) -> Int? {
        required(key) { value throws(JSONFaultReason) in try Int.read(value, in: range) }
    }

    package mutating func optionalInteger(_ key: String, in range: ClosedRange<Int>) -> Int? {
        optional(key) { value throws(JSONFaultReason) in try Int.read(value, in: range) }
    }

    package mutating func optionalDuration(_ key: String, in range: ClosedRange<Duration>) -> Duration? {
        optional(key) { value throws(JSONFaultReason) in
            let duration = try Duration.read(value)
            try duration.check(in: range)
            return duration
        }
    }
}

extension Duration {
    func check(in range: ClosedRange<Duration>) throws(JSONFaultReason) {
        guard range.contains(self) else {
            let limits = [range.lowerBound, range.upperBound].map(ISO8601Duration.format)
            throw JSONFaultReason("must be from \(limits[0]) to \(limits[1])")
        }
    }
}

extension Int {
    fileprivate static func read(_ value: JSONValue, in range: ClosedRange<Int>) throws(JSONFaultReason) -> Int {
        let integer = try read(value)
        guard range.contains(integer) else {
            throw JSONFaultReason("must be an integer from \(range.lowerBound) to \(range.upperBound)")
        }
        return integer
    }
}
