/// A value bound as a row of a composite type, in an array: `unnest(:rows::activity_write[])`.
///
/// Postgres processes such an array faster than an array per column. The query names the type. Its OID differs between
/// databases and is not needed, because Postgres accepts any OID for a type created after `initdb`.
public protocol PostgresComposite: PostgresArrayElement {
    /// Appends all columns in the order of the type.
    func encode(into row: inout CompositeWriter)
}

/// Writes rows in the format of `record_recv`.
public struct CompositeWriter {
    @usableFromInline var bytes: [UInt8] = []
    @usableFromInline var columns: Int32 = 0

    @usableFromInline init() {}

    /// Appends the next column: type, length and bytes.
    @inlinable
    public mutating func append<Value: PostgresEncodable>(_ value: Value) {
        columns += 1
        bytes.append(bigEndian: Value.postgresType.rawValue)
        bytes.append(bigEndian: Int32(-1))  // the length of NULL, replaced below
        guard !value.isPostgresNull else { return }
        let start = bytes.count
        value.encode(into: &bytes)
        bytes.replace(at: start - 4, bigEndian: Int32(bytes.count - start))
    }

    /// Appends the row's length, its number of columns, and the columns.
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

    /// The format of `array_recv`.
    @inlinable
    public static func encode(array: [Self], into buffer: inout [UInt8]) {
        buffer.append(bigEndian: Int32(array.isEmpty ? 0 : 1))
        buffer.append(bigEndian: Int32(0))
        buffer.append(bigEndian: PostgresType.record.rawValue)
        guard !array.isEmpty else { return }
        buffer.append(bigEndian: Int32(array.count))
        buffer.append(bigEndian: Int32(1))  // lower bound
        var writer = CompositeWriter()
        for element in array { writer.append(row: element) }
        buffer += writer.bytes
    }

    /// Always throws, because composites are never read.
    public static func decodeArray(
        _ bytes: UnsafeRawBufferPointer,
        type: PostgresType
    ) throws(PostgresError) -> [Self] {
        throw .mismatch(type, [Self].self)
    }
}
