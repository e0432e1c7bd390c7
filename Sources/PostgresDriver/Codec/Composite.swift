/// A value bound as a row of a composite type, in an array: `unnest(:rows::activity_write[])`.
///
/// Postgres processes such an array faster than an array per column. The query names the type. Its OID differs between
/// databases and is not needed, because Postgres accepts any OID for a type created after `initdb`.
public protocol PostgresComposite: PostgresArrayElement, PostgresEncodable {
    /// Appends all columns in the order of the type.
    func encode(into row: inout CompositeWriter)
}

/// Writes a row in the format of `record_recv`.
public struct CompositeWriter {
    @usableFromInline var bytes: [UInt8] = []
    @usableFromInline var columns: Int32 = 0

    @usableFromInline init() {}

    /// Appends the next column: type, length and bytes.
    @inlinable
    package mutating func append<Value: PostgresEncodable>(_ value: Value) {
        columns += 1
        bytes.append(bigEndian: Value.postgresType.rawValue)
        bytes.append(lengthAndBytesOf: value)
    }
}

extension PostgresComposite {
    /// In place of the type that the query names.
    package static var postgresType: PostgresType { .record }

    /// Appends the number of columns, and the columns.
    @inlinable
    package func encode(into buffer: inout [UInt8]) {
        var row = CompositeWriter()
        // The row is written in place, because a copy of each row costs more than its encoding.
        swap(&row.bytes, &buffer)
        let start = row.bytes.count
        row.bytes.append(bigEndian: Int32(0))
        encode(into: &row)
        row.bytes.replace(at: start, bigEndian: row.columns)
        swap(&row.bytes, &buffer)
    }

    /// Always throws, because composites are never read.
    package static func decodeArray(
        _ bytes: UnsafeRawBufferPointer,
        type: PostgresType
    ) throws(PostgresError) -> [Self] {
        throw .mismatch(type, [Self].self)
    }
}
