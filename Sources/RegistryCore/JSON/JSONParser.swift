/// A strict parser of RFC 8259.
///
/// The input is untrusted: check `position < bytes.count` before every access.
package struct JSONParser {
    let bytes: UnsafeBufferPointer<UInt8>
    let maximumDepth: Int
    var position = 0
    var valuesLeft: Int

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
            var parser = JSONParser(bytes: bytes, maximumDepth: depth, valuesLeft: maximumValues)
            return try parser.document()
        }
    }

    private mutating func document() throws(JSONSyntaxError) -> JSONValue {
        guard !bytes.starts(with: [0xEF, 0xBB, 0xBF]) else { throw fault("The text starts with a byte order mark.") }
        skipWhitespace()
        let value = try value(depth: 0)
        skipWhitespace()
        guard position == bytes.count else { throw fault("The text continues after its JSON value.") }
        return value
    }

    private mutating func value(depth: Int) throws(JSONSyntaxError) -> JSONValue {
        guard let first = next else { throw fault("The text ends where a value should be.") }
        try countValue()
        switch first {
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "{"): return .object(try object(depth: depth + 1))
        case UInt8(ascii: "["): return .array(try array(depth: depth + 1))
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return try number()
        case UInt8(ascii: "t"): return try literal("true", .bool(true))
        case UInt8(ascii: "f"): return try literal("false", .bool(false))
        case UInt8(ascii: "n"): return try literal("null", .null)
        default: throw fault("Expected a JSON value.")
        }
    }

    private mutating func countValue() throws(JSONSyntaxError) {
        valuesLeft -= 1
        guard valuesLeft < 0 else { return }
        var error = fault("The text has too many values.")
        error.hasTooManyValues = true
        throw error
    }

    private mutating func object(depth: Int) throws(JSONSyntaxError) -> JSONObject {
        try enter(depth: depth)
        var object = JSONObject()
        if take(UInt8(ascii: "}")) { return object }
        while true {
            guard next == UInt8(ascii: "\"") else { throw fault("Expected a key in quotes.") }
            let key = try string()
            skipWhitespace()
            guard take(UInt8(ascii: ":")) else { throw fault("Expected a colon after the key.") }
            skipWhitespace()
            object[key] = try value(depth: depth)
            skipWhitespace()
            if take(UInt8(ascii: "}")) { return object }
            guard take(UInt8(ascii: ",")) else { throw fault("Expected a comma or the end of the object.") }
            skipWhitespace()
        }
    }

    private mutating func array(depth: Int) throws(JSONSyntaxError) -> [JSONValue] {
        try enter(depth: depth)
        var elements: [JSONValue] = []
        if take(UInt8(ascii: "]")) { return elements }
        while true {
            elements.append(try value(depth: depth))
            skipWhitespace()
            if take(UInt8(ascii: "]")) { return elements }
            guard take(UInt8(ascii: ",")) else { throw fault("Expected a comma or the end of the array.") }
            skipWhitespace()
        }
    }

    private mutating func enter(depth: Int) throws(JSONSyntaxError) {
        guard depth <= maximumDepth else { throw fault("The text nests deeper than \(maximumDepth) levels.") }
        position += 1
        skipWhitespace()
    }

    private mutating func literal(_ word: StaticString, _ value: JSONValue) throws(JSONSyntaxError) -> JSONValue {
        let rest = bytes[position...].prefix(word.utf8CodeUnitCount)
        let expected = UnsafeBufferPointer(start: word.utf8Start, count: word.utf8CodeUnitCount)
        guard rest.elementsEqual(expected) else { throw fault("Expected a JSON value.") }
        position += expected.count
        return value
    }

    var next: UInt8? { position < bytes.count ? bytes[position] : nil }

    mutating func take(_ byte: UInt8) -> Bool {
        guard next == byte else { return false }
        position += 1
        return true
    }

    mutating func skipWhitespace() {
        while position < bytes.count {
            switch bytes[position] {
            case 0x20, 0x09, 0x0A, 0x0D: position += 1
            default: return
            }
        }
    }

    func fault(_ detail: String) -> JSONSyntaxError { fault(detail, at: position) }

    func fault(_ detail: String, at offset: Int) -> JSONSyntaxError {
        JSONSyntaxError(offset: min(offset, bytes.count), detail: detail)
    }
}

package struct JSONSyntaxError: Error, Sendable, Hashable, CustomStringConvertible {
    package let offset: Int
    /// One sentence that never quotes the text.
    package let detail: String
    /// The text has too many values and is otherwise valid.
    package internal(set) var hasTooManyValues = false

    package init(offset: Int, detail: String) { (self.offset, self.detail) = (offset, detail) }

    package var description: String { "Byte \(offset): \(detail)" }
}
