extension JSONReader {
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
}

extension JSONReader {
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
