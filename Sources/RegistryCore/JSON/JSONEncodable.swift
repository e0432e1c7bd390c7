import Foundation

/// A value that writes itself as JSON.
package protocol JSONEncodable {
    /// Writes exactly one JSON value.
    func encode(to json: inout JSONWriter)
}

extension JSONEncodable {
    /// The value as JSON text in UTF-8.
    package var jsonBytes: [UInt8] {
        var json = JSONWriter()
        encode(to: &json)
        return json.bytes
    }
}

extension JSONWriter {
    /// Writes a value.
    package mutating func value(_ value: some JSONEncodable) { value.encode(to: &self) }

    /// Writes a member: a key and its value. An optional that is nil is written as `null`.
    package mutating func member(_ name: String, _ value: some JSONEncodable) {
        key(name)
        value.encode(to: &self)
    }

    /// Writes a member, or nothing when there is no value.
    package mutating func member(_ name: String, ifPresent value: (some JSONEncodable)?) {
        if let value { member(name, value) }
    }

    /// Writes a member that is an object.
    package mutating func object<Failure>(
        _ name: String,
        _ members: (inout JSONWriter) throws(Failure) -> Void
    ) throws(Failure) {
        key(name)
        try object(members)
    }

    /// Writes a member that is an array.
    package mutating func array<Failure>(
        _ name: String,
        _ elements: (inout JSONWriter) throws(Failure) -> Void
    ) throws(Failure) {
        key(name)
        try array(elements)
    }

    /// Writes a member whose value is lower-case hex in quotes.
    package mutating func hex(_ name: String, _ value: some Collection<UInt8>) {
        key(name)
        hex(value)
    }
}

extension String: JSONEncodable {
    /// Writes a string.
    package func encode(to json: inout JSONWriter) { json.string(self) }
}

extension Bool: JSONEncodable {
    /// Writes `true` or `false`.
    package func encode(to json: inout JSONWriter) { json.bool(self) }
}

extension Int: JSONEncodable {
    /// Writes an integer.
    package func encode(to json: inout JSONWriter) { json.integer(self) }
}

extension Int64: JSONEncodable {
    /// Writes an integer.
    package func encode(to json: inout JSONWriter) { json.integer(self) }
}

extension Double: JSONEncodable {
    /// Writes a number, or `null` when it is not finite.
    package func encode(to json: inout JSONWriter) { json.double(self) }
}

extension Date: JSONEncodable {
    /// Writes an RFC 3339 time in UTC, rounded down to the millisecond.
    package func encode(to json: inout JSONWriter) { json.timestamp(self) }
}

extension Duration: JSONEncodable {
    /// Writes an ISO 8601 duration.
    package func encode(to json: inout JSONWriter) { json.duration(self) }
}

extension Array: JSONEncodable where Element: JSONEncodable {
    /// Writes an array of the elements.
    package func encode(to json: inout JSONWriter) {
        json.array { json in
            for element in self { element.encode(to: &json) }
        }
    }
}

extension Optional: JSONEncodable where Wrapped: JSONEncodable {
    /// Writes the value, or `null`.
    package func encode(to json: inout JSONWriter) {
        guard let self else { return json.null() }
        self.encode(to: &json)
    }
}
