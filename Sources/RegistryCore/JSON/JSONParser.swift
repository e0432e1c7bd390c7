/// A strict parser of RFC 8259.
package struct JSONParser {
    /// Bounds the parser's recursion, because the stack of a task is small.
    package static let deepestNesting = 256

    /// Reads one JSON value from UTF-8 bytes in linear time.
    ///
    /// Rejects, in addition to the grammar: a byte order mark, invalid UTF-8, lone surrogates in `\u` escapes, numbers
    /// beyond the range of `Double` or longer than 1,024 bytes, and any byte after the value. Integers beyond `Int64`
    /// become `.number`. The last value of a repeated key wins.
    ///
    /// - Parameters:
    ///   - bytes: The complete text. Read in place if contiguous, otherwise copied once.
    ///   - maximumDepth: Of nested arrays and objects, at most `deepestNesting`.
    ///   - maximumValues: In total, objects and arrays included.
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

    package static func parse(_ text: String, maximumDepth: Int = 32) throws(JSONSyntaxError) -> JSONValue {
        try parse(text.utf8, maximumDepth: maximumDepth)
    }

    private static func scan(
        _ bytes: UnsafeBufferPointer<UInt8>,
        _ maximumDepth: Int,
        _ maximumValues: Int
    ) -> Result<JSONValue, JSONSyntaxError> {
        Result { () throws(JSONSyntaxError) in
            let depth = min(maximumDepth, deepestNesting)
            var scanner = JSONScanner(bytes: bytes, maximumDepth: depth, valuesLeft: maximumValues)
            return try scanner.document()
        }
    }
}

package struct JSONSyntaxError: Error, Sendable, Hashable, CustomStringConvertible {
    package let offset: Int
    /// One sentence that never quotes the text.
    package let detail: String
    /// The text has too many values and is otherwise valid.
    package internal(set) var hasTooManyValues = false

    package init(offset: Int, detail: String) {
        self.offset = offset
        self.detail = detail
    }

    package var description: String { "Byte \(offset): \(detail)" }
}
