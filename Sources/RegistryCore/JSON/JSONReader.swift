/// Reads the members of a JSON object into typed values and collects all faults.
///
/// ```swift
/// var json = JSONReader(value)
/// let token = json.string("token", PushToken.init(hexadecimal:))
/// let observedAt = json.optional("observedAt", Date.read)
/// try json.check()
/// ```
/// A call that fails records a fault and returns nil, so that the next calls still run. A `null` member counts as
/// absent: an omitted field is not a cleared one. Unknown members are ignored.
///
/// A static `read` returns nil if the reader has faults. After an `init(from:)`, check the reader: if it has faults,
/// discard the value.
package struct JSONReader: Sendable {
    /// Empty if the value is not an object.
    package let object: JSONObject
    let pointer: JSONPointer
    /// In the order of the calls, at most `maximumFaults`.
    package private(set) var faults: [JSONFault] = []

    /// Bounds a response to a small multiple of its body, because slow readers keep it in memory.
    package static let maximumFaults = 32

    private let isObject: Bool

    /// Records the fault "must be an object" for any other value.
    package init(_ value: JSONValue) { self.init(value, at: .body) }

    init(_ value: JSONValue, at pointer: JSONPointer) {
        self.pointer = pointer
        if case .object(let object) = value {
            self.object = object
            isObject = true
        } else {
            object = JSONObject()
            isObject = false
            faults = [JSONFault(pointer: pointer.text, detail: "must be an object")]
        }
    }

    package func check() throws(JSONFaults) {
        guard faults.isEmpty else { throw JSONFaults(faults) }
    }

    /// Records a fault of a member, or of the object itself if `key` is nil.
    package mutating func fault(_ key: String?, _ detail: String) {
        record(JSONFault(pointer: (key.map(pointer.member) ?? pointer).text, detail: detail))
    }

    mutating func record(_ fault: JSONFault) {
        if faults.count < Self.maximumFaults { faults.append(fault) }
    }

    /// Absence and `null` give the fault "is required". An error of `read` becomes a fault of the member.
    package mutating func required<T>(
        _ key: String,
        _ read: (JSONValue) throws(JSONFaultReason) -> T
    ) -> T? {
        demand(key).flatMap { attempt($0, at: { $0.member(key) }, read) }
    }

    /// Nil for absence and `null`. An error of `read` becomes a fault of the member.
    package mutating func optional<T>(
        _ key: String,
        _ read: (JSONValue) throws(JSONFaultReason) -> T
    ) -> T? {
        present(key).flatMap { attempt($0, at: { $0.member(key) }, read) }
    }

    /// Reads a required string and converts it, for example with `ActivityID.init`.
    package mutating func string<T>(_ key: String, _ make: (String) throws(JSONFaultReason) -> T) -> T? {
        required(key) { value throws(JSONFaultReason) in try make(String.read(value)) }
    }

    package mutating func optionalString<T>(_ key: String, _ make: (String) throws(JSONFaultReason) -> T) -> T? {
        optional(key) { value throws(JSONFaultReason) in try make(String.read(value)) }
    }

    func present(_ key: String) -> JSONValue? {
        object[key].flatMap { $0.isNull ? nil : $0 }
    }

    /// The member. Absence and `null` are faults, unless the value is not an object, which is a fault already.
    mutating func demand(_ key: String) -> JSONValue? {
        let value = present(key)
        if value == nil, isObject { fault(key, "is required") }
        return value
    }

    /// - Parameter place: Gives the value's pointer from the reader's. Only faults need it.
    mutating func attempt<T>(
        _ value: JSONValue,
        at place: (JSONPointer) -> JSONPointer,
        _ read: (JSONValue) throws(JSONFaultReason) -> T
    ) -> T? {
        do throws(JSONFaultReason) {
            return try read(value)
        } catch {
            record(JSONFault(pointer: place(pointer).text, detail: error.detail))
            return nil
        }
    }
}
