import Foundation

package protocol JSONEncodable {
    func encode(to json: inout JSONWriter)
}

extension JSONEncodable {
    package var jsonBytes: [UInt8] {
        var json = JSONWriter()
        encode(to: &json)
        return json.bytes
    }
}

/// A value that is written as a JSON object.
package protocol JSONObjectEncodable: JSONEncodable {
    func writeMembers(to json: inout JSONWriter)
}

extension JSONObjectEncodable {
    package func encode(to json: inout JSONWriter) { json.object(writeMembers) }
}

extension JSONWriter {
    package mutating func value(_ value: some JSONEncodable) { value.encode(to: &self) }

    package mutating func member(_ name: String, _ value: some JSONEncodable) {
        key(name)
        value.encode(to: &self)
    }

    package mutating func member(_ name: String, ifPresent value: (some JSONEncodable)?) {
        if let value { member(name, value) }
    }

    package mutating func object(_ name: String, _ members: (inout JSONWriter) -> Void) {
        key(name)
        object(members)
    }

    package mutating func array(_ name: String, _ elements: (inout JSONWriter) -> Void) {
        key(name)
        array(elements)
    }

    package mutating func hex(_ name: String, _ value: some Collection<UInt8>) {
        key(name)
        hex(value)
    }

    package mutating func hex(_ name: String, ifPresent value: (some Collection<UInt8>)?) {
        if let value { hex(name, value) }
    }

    /// Writes JSON text unchanged. It must be one complete value.
    package mutating func raw(_ name: String, ifPresent json: [UInt8]?) {
        guard let json else { return }
        key(name)
        raw(json)
    }
}

extension String: JSONEncodable {
    package func encode(to json: inout JSONWriter) { json.string(self) }
}

extension Bool: JSONEncodable {
    package func encode(to json: inout JSONWriter) { json.bool(self) }
}

extension Int: JSONEncodable {
    package func encode(to json: inout JSONWriter) { json.integer(self) }
}

extension Int64: JSONEncodable {
    package func encode(to json: inout JSONWriter) { json.integer(self) }
}

extension Double: JSONEncodable {
    package func encode(to json: inout JSONWriter) { json.double(self) }
}

extension Date: JSONEncodable {
    /// RFC 3339 in UTC, rounded down to the millisecond.
    package func encode(to json: inout JSONWriter) { json.quoted { RFC3339.append(self, to: &$0) } }
}

extension Duration: JSONEncodable {
    package func encode(to json: inout JSONWriter) { json.string(ISO8601Duration.format(self)) }
}

extension Array: JSONEncodable where Element: JSONEncodable {
    package func encode(to json: inout JSONWriter) {
        json.array { json in
            for element in self { element.encode(to: &json) }
        }
    }
}

extension Optional: JSONEncodable where Wrapped: JSONEncodable {
    package func encode(to json: inout JSONWriter) {
        guard let self else { return json.null() }
        self.encode(to: &json)
    }
}
