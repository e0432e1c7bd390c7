extension [UInt8] {
    @inlinable
    mutating func append<Number: FixedWidthInteger>(bigEndian number: Number) {
        Swift.withUnsafeBytes(of: number.bigEndian) { append(contentsOf: $0) }
    }

    @inlinable
    mutating func replace(at offset: Int, bigEndian number: Int32) {
        Swift.withUnsafeBytes(of: number.bigEndian) { replaceSubrange(offset..<offset + 4, with: $0) }
    }

    @inlinable
    mutating func append<Value: PostgresEncodable>(lengthAndBytesOf value: Value) {
        append(bigEndian: Int32(-1))  // the length of NULL, replaced below
        guard !value.isPostgresNull else { return }
        let start = count
        value.encode(into: &self)
        replace(at: start - 4, bigEndian: Int32(count - start))
    }
}

struct WireReader {
    private(set) var rest: UnsafeRawBufferPointer

    init(_ bytes: UnsafeRawBufferPointer) {
        rest = bytes
    }

    mutating func slice(_ length: Int) throws(PostgresError) -> UnsafeRawBufferPointer {
        guard length >= 0, length <= rest.count else { throw PostgresError(.decoding, "a value is cut short") }
        defer { rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(length)) }
        return UnsafeRawBufferPointer(rebasing: rest.prefix(length))
    }

    mutating func integer<Number: FixedWidthInteger>(_: Number.Type) throws(PostgresError) -> Number {
        Number(bigEndian: try slice(MemoryLayout<Number>.size).loadUnaligned(as: Number.self))
    }

    static func only<Number: FixedWidthInteger>(
        _: Number.Type,
        in bytes: UnsafeRawBufferPointer
    ) throws(PostgresError) -> Number {
        guard bytes.count == MemoryLayout<Number>.size else { throw .malformed(Number.self) }
        return Number(bigEndian: bytes.loadUnaligned(as: Number.self))
    }
}
