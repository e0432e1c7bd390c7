extension JSONReader {
    /// Reads an object that may be absent with a reader of its own. Its faults become faults of this reader.
    package mutating func optionalNested<T>(_ key: String, _ body: (inout JSONReader) -> T?) -> T? {
        present(key).flatMap { descend(into: $0, at: pointer.member(key), body) }
    }

    /// Reads a required object with a reader of its own. Its faults become faults of this reader.
    package mutating func nested<T>(_ key: String, _ body: (inout JSONReader) -> T?) -> T? {
        demand(key).flatMap { descend(into: $0, at: pointer.member(key), body) }
    }

    /// Reads an optional array of objects with a reader for each. Their faults become faults of this reader.
    ///
    /// - Parameter maximumCount: More elements than this are one fault of the array, and none is read.
    /// - Returns: the elements that could be read; nil if there is no array.
    package mutating func optionalNestedArray<T>(
        _ key: String,
        maximumCount: Int,
        _ body: (inout JSONReader) -> T?
    ) -> [T]? {
        present(key).flatMap { elements(of: $0, at: key, maximumCount) }?
            .compactMap { descend(into: $0.value, at: $0.pointer, body) }
    }

    /// Reads a required array, element by element.
    ///
    /// - Parameters:
    ///   - maximumCount: More elements than this are one fault of the array, and none is read.
    ///   - each: reads an element; its error is a fault of the element, and the next ones are still read.
    /// - Returns: the elements that could be read; nil if there is no array.
    package mutating func array<T>(
        _ key: String,
        maximumCount: Int = .max,
        each: (JSONValue) throws(JSONFaultReason) -> T
    ) -> [T]? {
        demand(key).flatMap { elements(of: $0, at: key, maximumCount)?.compactMap { attempt($0, each) } }
    }

    /// Reads a required array as readers of its elements. Their faults stay theirs: in a batch, an element does not
    /// fail its neighbours.
    ///
    /// - Parameter maximumCount: More elements than this are one fault of the array, and none is read.
    package mutating func elements(_ key: String, maximumCount: Int) -> [JSONReader]? {
        demand(key).flatMap { elements(of: $0, at: key, maximumCount)?.map { JSONReader($0.value, at: $0.pointer) } }
    }

    /// Reads a member that is one value or an array of such values, as those of `aliases` are; it must be there.
    ///
    /// - Returns: The values that could be read; nil when the member is absent.
    package mutating func oneOrMore<T>(
        _ key: String,
        maximumCount: Int = .max,
        each: (JSONValue) throws(JSONFaultReason) -> T
    ) -> [T]? {
        guard let value = demand(key) else { return nil }
        if case .array = value { return array(key, maximumCount: maximumCount, each: each) }
        return required(key, each).map { [$0] } ?? []
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

    private mutating func attempt<T>(
        _ element: Element,
        _ read: (JSONValue) throws(JSONFaultReason) -> T
    ) -> T? {
        do throws(JSONFaultReason) {
            return try read(element.value)
        } catch {
            record(JSONFault(pointer: element.pointer.text, detail: error.detail))
            return nil
        }
    }

    private mutating func descend<T>(
        into value: JSONValue,
        at pointer: JSONPointer,
        _ body: (inout JSONReader) -> T?
    ) -> T? {
        var reader = JSONReader(value, at: pointer)
        // A value that is no object is one fault; the body would only add faults of missing members.
        let result = reader.faults.isEmpty ? body(&reader) : nil
        for fault in reader.faults { record(fault) }
        return result
    }
}
