/// Reads the members of a JSON object into typed values, and collects every fault on the way.
///
/// ```swift
/// var json = JSONReader(value)
/// let token = json.string("token", PushToken.init(hexadecimal:))
/// let observedAt = json.optionalTimestamp("observedAt")
/// try json.check()
/// ```
/// Each call that fails gives nil and records a fault, so that the next ones still run. A member that is `null` counts as
/// absent (an omitted field is not a cleared one), and members that nobody asks for are ignored.
package struct JSONReader: Sendable {
    /// Empty if the value was no object.
    package let object: JSONObject
    let pointer: JSONPointer
    /// In the order of the calls; at most `maximumFaults`.
    package private(set) var faults: [JSONFault] = []

    /// Bounds an answer to a small multiple of its body: a slow reader keeps it in memory.
    package static let maximumFaults = 32

    private let isObject: Bool

    /// Begins to read a body, and records the fault "must be an object" when it is none.
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

    /// - Throws: `JSONFaults`, with every fault found.
    package func check() throws(JSONFaults) {
        guard faults.isEmpty else { throw JSONFaults(faults) }
    }

    /// Records a fault of a member, or of the object itself when the key is nil.
    package mutating func fault(_ key: String?, _ detail: String) {
        record(JSONFault(pointer: (key.map(pointer.member) ?? pointer).text, detail: detail))
    }

    mutating func record(_ fault: JSONFault) {
        if faults.count < Self.maximumFaults { faults.append(fault) }
    }

    /// Absent or `null` is the fault "is required"; the closure's error is a fault of the member.
    package mutating func required<T>(
        _ key: String,
        _ read: (JSONValue) throws(JSONFaultReason) -> T
    ) -> T? {
        demand(key).flatMap { attempt($0, at: key, read) }
    }

    /// Absent or `null` is nil; the closure's error is a fault of the member.
    package mutating func optional<T>(
        _ key: String,
        _ read: (JSONValue) throws(JSONFaultReason) -> T
    ) -> T? {
        present(key).flatMap { attempt($0, at: key, read) }
    }

    func present(_ key: String) -> JSONValue? {
        object[key].flatMap { $0.isNull ? nil : $0 }
    }

    /// The member; absent or `null` is a fault, except where the whole is no object, which is fault enough.
    mutating func demand(_ key: String) -> JSONValue? {
        let value = present(key)
        if value == nil, isObject { fault(key, "is required") }
        return value
    }

    private mutating func attempt<T>(
        _ value: JSONValue,
        at key: String,
        _ read: (JSONValue) throws(JSONFaultReason) -> T
    ) -> T? {
        do throws(JSONFaultReason) {
            return try read(value)
        } catch {
            fault(key, error.detail)
            return nil
        }
    }
}
