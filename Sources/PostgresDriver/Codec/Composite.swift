/// A value that is bound as a row of a composite type, in an array: `unnest(:rows::activity_write[])`.
///
/// Such an array costs Postgres less than an array per column. The query names the type; its number, which differs
/// between databases, is not needed: Postgres accepts every number for a type that was made after `initdb`.
public protocol PostgresComposite: PostgresArrayElement {
    /// Appends all columns of the type, in their order.
    func encode(into row: inout CompositeWriter)
}

/// Writes rows in the format of `record_recv`.
public struct CompositeWriter {
    @usableFromInline var bytes: [UInt8] = []
    @usableFromInline var columns: Int32 = 0

    @usableFromInline init() {}

    /// Appends the next column: its type, its length and its bytes.
    @inlinable
    public mutating func append<Value: PostgresEncodable>(_ value: Value) {
        columns += 1
        bytes.append(bigEndian: Value.postgresType.rawValue)
        bytes.append(bigEndian: Int32(-1))  // The length of NULL, until there is another.
        guard !value.isPostgresNull else { return }
        let start = bytes.count
        value.encode(into: &bytes)
        bytes.replace(at: start - 4, bigEndian: Int32(bytes.count - start))
    }

    /// Appends the length of the row, the number of its columns, and the columns.
    @inlinable
    mutating func append<Row: PostgresComposite>(row: Row) {
        let start = bytes.count
        bytes.append(bigEndian: Int64(0))
        columns = 0
        row.encode(into: &self)
        bytes.replace(at: start, bigEndian: Int32(bytes.count - start - 4))
        bytes.replace(at: start + 4, bigEndian: columns)
    }
}

extension PostgresComposite {
    /// record[], in place of the type that the query names.
    public static var postgresArrayType: PostgresType { .recordArray }

    /// The format of `array_recv`, as for other elements.
    @inlinable
    public static func encode(array: [Self], into buffer: inout [UInt8]) {
        buffer.append(bigEndian: Int32(array.isEmpty ? 0 : 1))
        buffer.append(bigEndian: Int32(0))
        buffer.append(bigEndian: PostgresType.record.rawValue)
        guard !array.isEmpty else { return }
        buffer.append(bigEndian: Int32(array.count))
        buffer.append(bigEndian: Int32(1))  // The lower bound.
        var writer = CompositeWriter()
        for element in array { writer.append(row: element) }
        buffer += writer.bytes
    }

    /// Always throws, because such values are only bound.
    public static func decodeArray(
        _ bytes: UnsafeRawBufferPointer,
        type: PostgresType
    ) throws(PostgresError) -> [Self] {
        throw .mismatch(type, [Self].self)
    }
}
