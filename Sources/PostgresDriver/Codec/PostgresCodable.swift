// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

/// A type that can be bound to a statement, in Postgres's binary format.
///
/// Public, because the compiler inlines only public code into other modules. The protocols document all codecs.
public protocol PostgresEncodable: Sendable {
    static var postgresType: PostgresType { get }
    var isPostgresNull: Bool { get }
    /// Appends the value, which is not NULL.
    func encode(into buffer: inout [UInt8])
}

extension PostgresEncodable {
    @inlinable
    public var isPostgresNull: Bool { false }
}

/// A type that can be read from a column, in Postgres's binary format.
public protocol PostgresDecodable: SendableMetatype {
    /// Reads a value that is not NULL.
    ///
    /// - Throws: ``PostgresError/Code/decoding`` if the column's type or bytes do not fit.
    init(postgres bytes: UnsafeRawBufferPointer, type: PostgresType) throws(PostgresError)
    /// - Throws: ``PostgresError/Code/decoding`` unless the type can represent NULL, as only `Optional` does.
    init(postgresNull type: PostgresType) throws(PostgresError)
}

extension PostgresDecodable {
    public init(postgresNull type: PostgresType) throws(PostgresError) {
        throw PostgresError(.decoding, "NULL does not fit \(Self.self)")
    }
}

extension Optional: PostgresEncodable where Wrapped: PostgresEncodable {
    public static var postgresType: PostgresType { Wrapped.postgresType }

    /// True for nil and for a wrapped NULL.
    @inlinable
    public var isPostgresNull: Bool { self?.isPostgresNull ?? true }

    @inlinable
    public func encode(into buffer: inout [UInt8]) { self?.encode(into: &buffer) }
}

extension Optional: PostgresDecodable where Wrapped: PostgresDecodable {
    @inlinable
    public init(postgres bytes: UnsafeRawBufferPointer, type: PostgresType) throws(PostgresError) {
        self = .some(try Wrapped(postgres: bytes, type: type))
    }

    @inlinable
    public init(postgresNull type: PostgresType) throws(PostgresError) { self = .none }
}

/// The implementation for enums that declare the conformance.
extension PostgresEncodable where Self: RawRepresentable, RawValue: PostgresEncodable {
    public static var postgresType: PostgresType { RawValue.postgresType }
    public func encode(into buffer: inout [UInt8]) { rawValue.encode(into: &buffer) }
}

/// The implementation for enums that declare the conformance.
extension PostgresDecodable where Self: RawRepresentable, RawValue: PostgresDecodable {
    public init(postgres bytes: UnsafeRawBufferPointer, type: PostgresType) throws(PostgresError) {
        guard let value = Self(rawValue: try RawValue(postgres: bytes, type: type)) else { throw .malformed(Self.self) }
        self = value
    }
}

extension PostgresError {
    package static func mismatch<Value>(_ type: PostgresType, _ target: Value.Type) -> PostgresError {
        PostgresError(.decoding, "type \(type.rawValue) does not fit \(target)")
    }

    static func malformed<Value>(_ target: Value.Type) -> PostgresError {
        PostgresError(.decoding, "the bytes are not a valid \(target)")
    }
}

/// A Postgres type, identified by its OID (src/include/catalog/pg_type.dat).
public struct PostgresType: Hashable, Sendable {
    @usableFromInline package let rawValue: UInt32

    package init(rawValue: UInt32) { self.rawValue = rawValue }

    package static let bool = PostgresType(rawValue: 16)
    package static let bytea = PostgresType(rawValue: 17)
    package static let name = PostgresType(rawValue: 19)
    package static let int8 = PostgresType(rawValue: 20)
    package static let int2 = PostgresType(rawValue: 21)
    package static let int4 = PostgresType(rawValue: 23)
    package static let text = PostgresType(rawValue: 25)
    package static let tid = PostgresType(rawValue: 27)
    package static let json = PostgresType(rawValue: 114)
    package static let float8 = PostgresType(rawValue: 701)
    package static let unknown = PostgresType(rawValue: 705)
    package static let bpchar = PostgresType(rawValue: 1042)
    package static let varchar = PostgresType(rawValue: 1043)
    package static let timestamptz = PostgresType(rawValue: 1184)
    package static let interval = PostgresType(rawValue: 1186)
    package static let record = PostgresType(rawValue: 2249)
    package static let jsonb = PostgresType(rawValue: 3802)

    private static let arrays: [PostgresType: UInt32] = [
        .bool: 1000, .bytea: 1001, .name: 1003, .int8: 1016, .int2: 1005, .int4: 1007, .text: 1009, .tid: 1010,
        .json: 199, .float8: 1022, .bpchar: 1014, .varchar: 1015, .timestamptz: 1185, .interval: 1187,
        .record: 2287, .jsonb: 3807,
    ]
    private static let arrayOIDs = Set(arrays.values)

    /// text[] for types that this driver does not know.
    package var array: PostgresType { PostgresType(rawValue: Self.arrays[self] ?? 1009) }

    /// Enums, domains and other types created after `initdb` (FirstNormalObjectId).
    var isUserDefined: Bool { rawValue >= 16384 }
    var isArray: Bool { Self.arrayOIDs.contains(rawValue) || isUserDefined }
}

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

    init(_ bytes: UnsafeRawBufferPointer) { rest = bytes }

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
