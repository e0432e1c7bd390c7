/// Reads JSON text strictly by RFC 8259.
package struct JSONParser {
    /// The deepest nesting that can be asked for: the parser recurses, and a task's stack is small.
    package static let deepestNesting = 256

    /// Reads one JSON value from UTF-8 bytes, in time proportional to their number.
    ///
    /// Refused in addition to the grammar: a byte order mark, bytes that are not UTF-8, lone surrogates in `\u`
    /// escapes, numbers beyond the range of `Double` or longer than 1,024 bytes, and anything after the value. Integers
    /// beyond `Int64` become `.number`. Of equal keys in an object, the last value wins.
    ///
    /// - Parameters:
    ///   - bytes: the whole text. Read in place if contiguous, else copied once.
    ///   - maximumDepth: of nested arrays and objects, at most `deepestNesting`.
    ///   - maximumValues: in total, objects and arrays included.
    /// - Throws: `JSONSyntaxError` at the first wrong byte.
    package static func parse(
        _ bytes: some Collection<UInt8>,
        maximumDepth: Int = 32,
        maximumValues: Int = .max
    ) throws(JSONSyntaxError) -> JSONValue {
        let inPlace = bytes.withContiguousStorageIfAvailable { scan($0, maximumDepth, maximumValues) }
        let outcome = inPlace ?? Array(bytes).withUnsafeBufferPointer { scan($0, maximumDepth, maximumValues) }
        return try outcome.get()
    }

    /// - Throws: `JSONSyntaxError` at the first wrong byte.
    package static func parse(_ text: String, maximumDepth: Int = 32) throws(JSONSyntaxError) -> JSONValue {
        try parse(text.utf8, maximumDepth: maximumDepth)
    }

    private static func scan(
        _ bytes: UnsafeBufferPointer<UInt8>,
        _ maximumDepth: Int,
        _ maximumValues: Int
    ) -> Result<JSONValue, JSONSyntaxError> {
        Result { () throws(JSONSyntaxError) in
            var scanner = JSONScanner(bytes: bytes, maximumDepth: min(maximumDepth, deepestNesting))
            scanner.valuesLeft = maximumValues
            return try scanner.document()
        }
    }
}

package struct JSONSyntaxError: Error, Sendable, Hashable, CustomStringConvertible {
    package let offset: Int
    /// The fault, in one sentence that repeats nothing of the text.
    package let detail: String
    /// There are more values than allowed, and no other fault.
    package internal(set) var hasTooManyValues = false

    package init(offset: Int, detail: String) {
        self.offset = offset
        self.detail = detail
    }

    package var description: String { "Byte \(offset): \(detail)" }
}
