// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

/// An element type whose Swift array has a Postgres type: normally an array of that type, but bytea for `[UInt8]`.
///
/// Encoding is inlinable, because the generic lookup of an array's type in another module costs more than the encoding.
public protocol PostgresArrayElement: Sendable {
    static var postgresArrayType: PostgresType { get }
    /// Appends the whole array in binary format.
    static func encode(array: [Self], into buffer: inout [UInt8])
    /// - Throws: ``PostgresError/Code/decoding`` if the column's type or its bytes do not fit.
    static func decodeArray(_ bytes: UnsafeRawBufferPointer, type: PostgresType) throws(PostgresError) -> [Self]
}

extension Array: PostgresEncodable where Element: PostgresArrayElement {
    public static var postgresType: PostgresType { Element.postgresArrayType }

    @inlinable
    public func encode(into buffer: inout [UInt8]) { Element.encode(array: self, into: &buffer) }
}

extension Array: PostgresDecodable where Element: PostgresArrayElement {
    public init(postgres bytes: UnsafeRawBufferPointer, type: PostgresType) throws(PostgresError) {
        self = try Element.decodeArray(bytes, type: type)
    }
}

extension PostgresArrayElement where Self: PostgresEncodable {
    public static var postgresArrayType: PostgresType { postgresType.array }

    /// The format of `array_recv`: dimensions, a NULL flag, the element type, then each element's length and bytes.
    @inlinable
    public static func encode(array: [Self], into buffer: inout [UInt8]) {
        buffer.append(bigEndian: Int32(array.isEmpty ? 0 : 1))
        // A closure, because a generic key path is created again on each call.
        buffer.append(bigEndian: Int32(array.contains { $0.isPostgresNull } ? 1 : 0))
        buffer.append(bigEndian: postgresType.rawValue)
        guard !array.isEmpty else { return }
        buffer.append(bigEndian: Int32(array.count))
        buffer.append(bigEndian: Int32(1))  // lower bound
        for element in array { buffer.append(lengthAndBytesOf: element) }
    }
}

extension PostgresArrayElement where Self: PostgresDecodable {
    /// Reads the format of `array_send`.
    public static func decodeArray(
        _ bytes: UnsafeRawBufferPointer,
        type: PostgresType
    ) throws(PostgresError) -> [Self] {
        guard type.isArray else { throw .mismatch(type, [Self].self) }
        var reader = WireReader(bytes)
        let dimensions = try reader.integer(Int32.self)
        _ = try reader.integer(Int32.self)
        let elementType = PostgresType(rawValue: try reader.integer(UInt32.self))
        guard dimensions != 0 else { return [] }
        guard dimensions == 1 else { throw PostgresError(.decoding, "an array has \(dimensions) dimensions") }
        let count = try reader.integer(Int32.self)
        guard count >= 0 else { throw .malformed([Self].self) }
        _ = try reader.integer(Int32.self)
        var array: [Self] = []
        for _ in 0..<count {
            let length = try reader.integer(Int32.self)
            array.append(
                length == -1
                    ? try Self(postgresNull: elementType)
                    : try Self(postgres: try reader.slice(Int(length)), type: elementType)
            )
        }
        guard reader.rest.isEmpty else { throw .malformed([Self].self) }
        return array
    }
}

/// An array of bytes is a bytea, not an array type.
extension UInt8: PostgresArrayElement {
    public static var postgresArrayType: PostgresType { .bytea }
    public static func encode(array: [UInt8], into buffer: inout [UInt8]) { buffer.append(contentsOf: array) }

    public static func decodeArray(
        _ bytes: UnsafeRawBufferPointer,
        type: PostgresType
    ) throws(PostgresError) -> [UInt8] {
        guard type == .bytea else { throw .mismatch(type, [UInt8].self) }
        return Array(bytes)
    }
}

/// `[[UInt8]]` is bytea[]; deeper arrays are not supported.
extension Array: PostgresArrayElement where Element == UInt8 {}

extension Optional: PostgresArrayElement where Wrapped: PostgresScalar {}

/// A value bound as a row of a composite type, in an array: `unnest(:rows::activity_write[])`.
///
/// Postgres processes such an array faster than an array per column. The query names the type. Its OID differs between
/// databases and is not needed, because Postgres accepts any OID for a type created after `initdb`.
public protocol PostgresComposite: PostgresArrayElement, PostgresEncodable {
    func encode(into row: inout CompositeWriter)
}

/// Writes a row in the format of `record_recv`.
public struct CompositeWriter {
    @usableFromInline var bytes: [UInt8] = []
    @usableFromInline var columns: Int32 = 0

    @usableFromInline init() {}

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
