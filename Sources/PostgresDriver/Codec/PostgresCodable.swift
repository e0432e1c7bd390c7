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
    public func encode(into buffer: inout [UInt8]) {
        self?.encode(into: &buffer)
    }
}

extension Optional: PostgresDecodable where Wrapped: PostgresDecodable {
    @inlinable
    public init(postgres bytes: UnsafeRawBufferPointer, type: PostgresType) throws(PostgresError) {
        self = .some(try Wrapped(postgres: bytes, type: type))
    }

    @inlinable
    public init(postgresNull type: PostgresType) throws(PostgresError) {
        self = .none
    }
}

/// The implementation for enums that declare the conformance.
extension PostgresEncodable where Self: RawRepresentable, RawValue: PostgresEncodable {
    public static var postgresType: PostgresType { RawValue.postgresType }

    public func encode(into buffer: inout [UInt8]) { rawValue.encode(into: &buffer) }
}

/// The implementation for enums that declare the conformance.
extension PostgresDecodable where Self: RawRepresentable, RawValue: PostgresDecodable {
    /// - Throws: `decoding` if the raw value has no case.
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
