package struct JSONFault: Sendable, Hashable {
    /// An RFC 6901 pointer into the body, such as `/reports/3/token`. Empty for the body itself.
    package let pointer: String
    package let detail: String

    package init(pointer: String, detail: String) {
        self.pointer = pointer
        self.detail = detail
    }
}

extension JSONFault: JSONObjectEncodable {
    package func writeMembers(to json: inout JSONWriter) {
        json.member("pointer", pointer)
        json.member("detail", detail)
    }
}

package struct JSONFaultReason: Error, Sendable, Hashable, CustomStringConvertible {
    /// A predicate without position, such as "must be a string". It never contains secrets.
    package let detail: String
    package init(_ detail: String) { self.detail = detail }
    package var description: String { detail }
}

package struct JSONFaults: Error, Sendable, Hashable {
    /// Not empty. In the order in which the members were read.
    package let faults: [JSONFault]
    package init(_ faults: [JSONFault]) { self.faults = faults }
}
