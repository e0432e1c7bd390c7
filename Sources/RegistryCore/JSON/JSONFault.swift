/// A fault of one value of a request, and its place.
package struct JSONFault: Sendable, Hashable {
    /// An RFC 6901 pointer into the body, such as `/reports/3/token`; empty for the body itself.
    package let pointer: String
    /// The fault, said of the value: "must be a string".
    package let detail: String

    /// Makes a fault of a value.
    package init(pointer: String, detail: String) {
        self.pointer = pointer
        self.detail = detail
    }
}

extension JSONFault: JSONEncodable {
    /// Writes `{"pointer", "detail"}`.
    package func encode(to json: inout JSONWriter) {
        json.object { json in
            json.member("pointer", pointer)
            json.member("detail", detail)
        }
    }
}

/// Why a value was refused, thrown by code that reads a single value and does not know where it stands.
package struct JSONFaultReason: Error, Sendable, Hashable, CustomStringConvertible {
    /// The fault, said of the value: "must be a string". It never repeats secrets.
    package let detail: String

    /// Makes a reason of a sentence without its subject.
    package init(_ detail: String) { self.detail = detail }

    /// The detail.
    package var description: String { detail }
}

/// All that is wrong with a request.
package struct JSONFaults: Error, Sendable, Hashable {
    /// At least one, in the order in which the members were read.
    package let faults: [JSONFault]

    /// Makes the error of the faults.
    package init(_ faults: [JSONFault]) { self.faults = faults }
}
