import Foundation

/// A type whose Swift array has a Postgres type: an array of that type, except that `[UInt8]` is bytea.
///
/// A conforming type needs no members besides those of `PostgresEncodable` and `PostgresDecodable`.
///
/// The encoding is inlinable: in other modules, the generic lookup of an array's type would cost more than the
/// encoding.
public protocol PostgresArrayElement: Sendable {
    /// The type of a Swift array of these elements.
    static var postgresArrayType: PostgresType { get }
    /// Appends the binary format of the whole array.
    static func encode(array: [Self], into buffer: inout [UInt8])
    /// - Throws: ``PostgresError/Code/decoding`` if the column's type or its bytes do not fit.
    static func decodeArray(_ bytes: UnsafeRawBufferPointer, type: PostgresType) throws(PostgresError) -> [Self]
}

extension Array: PostgresEncodable where Element: PostgresArrayElement {
    /// bytea for `[UInt8]`.
    public static var postgresType: PostgresType { Element.postgresArrayType }

    /// Appends the array as its elements' type writes it.
    @inlinable
    public func encode(into buffer: inout [UInt8]) {
        Element.encode(array: self, into: &buffer)
    }
}

extension Array: PostgresDecodable where Element: PostgresArrayElement {
    /// Reads the array as its elements' type reads it.
    public init(postgres bytes: UnsafeRawBufferPointer, type: PostgresType) throws(PostgresError) {
        self = try Element.decodeArray(bytes, type: type)
    }
}

extension PostgresArrayElement where Self: PostgresEncodable & PostgresDecodable {
    /// text[] for types that the driver does not know.
    public static var postgresArrayType: PostgresType { postgresType.array }

    /// The format of `array_recv`: dimensions, a NULL flag, the element type, then length and bytes of each element.
    @inlinable
    public static func encode(array: [Self], into buffer: inout [UInt8]) {
        buffer.append(bigEndian: Int32(array.isEmpty ? 0 : 1))
        // A closure, because a key path is created on each call if the type is not known.
        buffer.append(bigEndian: Int32(array.contains { $0.isPostgresNull } ? 1 : 0))
        buffer.append(bigEndian: postgresType.rawValue)
        guard !array.isEmpty else { return }
        buffer.append(bigEndian: Int32(array.count))
        buffer.append(bigEndian: Int32(1))  // The lower bound.
        for element in array {
            let start = buffer.count
            buffer.append(bigEndian: Int32(-1))  // The length of NULL, until there is another.
            guard !element.isPostgresNull else { continue }
            element.encode(into: &buffer)
            buffer.replace(at: start, bigEndian: Int32(buffer.count - start - 4))
        }
    }

    /// Reads the format of `array_send`.
    ///
    /// - Throws: ``PostgresError/Code/decoding``, also for several dimensions or an unexpected NULL.
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
        return try elements(Int(count), of: elementType, in: &reader)
    }

    private static func elements(
        _ count: Int,
        of type: PostgresType,
        in reader: inout WireReader
    ) throws(PostgresError) -> [Self] {
        var array: [Self] = []
        for _ in 0..<count {
            let length = try reader.integer(Int32.self)
            array.append(
                length == -1
                    ? try Self(postgresNull: type)
                    : try Self(postgres: try reader.slice(Int(length)), type: type)
            )
        }
        guard reader.rest.isEmpty else { throw .malformed([Self].self) }
        return array
    }
}

extension UInt8: PostgresArrayElement {
    /// bytea, not an array type.
    public static var postgresArrayType: PostgresType { .bytea }

    /// Appends the bytes as they are.
    public static func encode(array: [UInt8], into buffer: inout [UInt8]) {
        buffer.append(contentsOf: array)
    }

    /// Takes the bytes of a bytea as they are.
    public static func decodeArray(
        _ bytes: UnsafeRawBufferPointer,
        type: PostgresType
    ) throws(PostgresError) -> [UInt8] {
        guard type == .bytea else { throw .mismatch(type, [UInt8].self) }
        return Array(bytes)
    }
}

/// `[[UInt8]]` is bytea[]; deeper arrays have no Postgres type here.
extension Array: PostgresArrayElement where Element == UInt8 {}

extension Optional: PostgresArrayElement
where Wrapped: PostgresArrayElement & PostgresEncodable & PostgresDecodable {}

extension Bool: PostgresArrayElement {}
extension Int16: PostgresArrayElement {}
extension Int32: PostgresArrayElement {}
extension Int64: PostgresArrayElement {}
extension Int: PostgresArrayElement {}
extension Double: PostgresArrayElement {}
extension String: PostgresArrayElement {}
extension Date: PostgresArrayElement {}
extension Duration: PostgresArrayElement {}
extension JSONB: PostgresArrayElement {}
