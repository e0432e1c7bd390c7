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

extension JSONWriter {
    package mutating func value(_ value: some JSONEncodable) { value.encode(to: &self) }

    package mutating func member(_ name: String, _ value: some JSONEncodable) {
        key(name)
        value.encode(to: &self)
    }

    package mutating func member(_ name: String, ifPresent value: (some JSONEncodable)?) {
        if let value { member(name, value) }
    }

    package mutating func object<Failure>(
        _ name: String,
        _ members: (inout JSONWriter) throws(Failure) -> Void
    ) throws(Failure) {
        key(name)
        try object(members)
    }

    package mutating func array<Failure>(
        _ name: String,
        _ elements: (inout JSONWriter) throws(Failure) -> Void
    ) throws(Failure) {
        key(name)
        try array(elements)
    }

    package mutating func hex(_ name: String, _ value: some Collection<UInt8>) {
        key(name)
        hex(value)
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
    package func encode(to json: inout JSONWriter) { json.timestamp(self) }
}

extension Duration: JSONEncodable {
    package func encode(to json: inout JSONWriter) { json.duration(self) }
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
