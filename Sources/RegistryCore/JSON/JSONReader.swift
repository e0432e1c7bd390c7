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

    package func check() throws(Problem) { guard faults.isEmpty else { throw Problem(faults: faults) } }

    /// Records a fault of a member, or of the object itself if `key` is nil.
    package mutating func fault(_ key: String?, _ detail: String) {
        record(JSONFault(pointer: (key.map(pointer.member) ?? pointer).text, detail: detail))
    }

    mutating func record(_ fault: JSONFault) { if faults.count < Self.maximumFaults { faults.append(fault) } }

    /// Absence and `null` give the fault "is required". An error of `read` becomes a fault of the member.
    package mutating func required<T>(_ key: String, _ read: (JSONValue) throws(JSONFaultReason) -> T) -> T? {
        demand(key).flatMap { attempt($0, at: { $0.member(key) }, read) }
    }

    /// Nil for absence and `null`. An error of `read` becomes a fault of the member.
    package mutating func optional<T>(_ key: String, _ read: (JSONValue) throws(JSONFaultReason) -> T) -> T? {
        present(key).flatMap { attempt($0, at: { $0.member(key) }, read) }
    }

    /// Reads a required string and converts it, for example with `ActivityID.init`.
    package mutating func string<T>(_ key: String, _ make: (String) throws(JSONFaultReason) -> T) -> T? {
        required(key) { value throws(JSONFaultReason) in try make(String.read(value)) }
    }

    package mutating func optionalString<T>(_ key: String, _ make: (String) throws(JSONFaultReason) -> T) -> T? {
        optional(key) { value throws(JSONFaultReason) in try make(String.read(value)) }
    }

    func present(_ key: String) -> JSONValue? { object[key].flatMap { $0.isNull ? nil : $0 } }

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

    /// Faults of the nested object become faults of this reader.
    package mutating func optionalNested<T>(_ key: String, _ body: (inout JSONReader) -> T?) -> T? {
        present(key).flatMap { descend(into: $0, at: pointer.member(key), body) }
    }

    package mutating func nested<T>(_ key: String, _ body: (inout JSONReader) -> T?) -> T? {
        demand(key).flatMap { descend(into: $0, at: pointer.member(key), body) }
    }

    /// Faults of the elements become faults of this reader.
    ///
    /// - Parameter maximumCount: A longer array is one fault, and no element is read.
    /// - Returns: The readable elements; nil if the member is absent or not an array.
    package mutating func optionalNestedArray<T>(
        _ key: String,
        maximumCount: Int,
        _ body: (inout JSONReader) -> T?
    ) -> [T]? {
        present(key).flatMap { elements(of: $0, at: key, maximumCount) }?
            .compactMap { descend(into: $0.value, at: $0.pointer, body) }
    }

    /// Reads a required array as one reader per element. Faults stay in these readers, so an element of a batch fails
    /// alone. A longer array than `maximumCount` is one fault.
    package mutating func elements(_ key: String, maximumCount: Int) -> [JSONReader]? {
        demand(key).flatMap { elements(of: $0, at: key, maximumCount)?.map { JSONReader($0.value, at: $0.pointer) } }
    }

    /// Reads a required member that is one value or an array of values, such as a kind in `aliases`.
    ///
    /// - Parameters:
    ///   - maximumCount: A longer array is one fault, and no element is read.
    ///   - each: Reads a value. Its error is a fault of the value, and reading continues.
    /// - Returns: The readable values; nil if the member is absent or too long.
    package mutating func oneOrMore<T>(
        _ key: String,
        maximumCount: Int = .max,
        each: (JSONValue) throws(JSONFaultReason) -> T
    ) -> [T]? {
        guard let value = demand(key) else { return nil }
        guard case .array = value else { return required(key, each).map { [$0] } ?? [] }
        return elements(of: value, at: key, maximumCount)?.compactMap { element in
            attempt(element.value, at: { _ in element.pointer }, each)
        }
    }

    private typealias Element = (pointer: JSONPointer, value: JSONValue)

    private mutating func elements(of value: JSONValue, at key: String, _ maximumCount: Int) -> [Element]? {
        guard case .array(let values) = value else {
            fault(key, "must be an array")
            return nil
        }
        guard values.count <= maximumCount else {
            fault(key, "must hold at most \(maximumCount) elements")
            return nil
        }
        let array = pointer.member(key)
        return values.enumerated().map { (array.element($0), $1) }
    }

    private mutating func descend<T>(
        into value: JSONValue,
        at pointer: JSONPointer,
        _ body: (inout JSONReader) -> T?
    ) -> T? {
        var reader = JSONReader(value, at: pointer)
        // A value of another type is one fault. `body` would add a fault for each missing member.
        let result = reader.faults.isEmpty ? body(&reader) : nil
        for fault in reader.faults { record(fault) }
        return result
    }
}
