/// A type that can be bound to a statement, in Postgres's binary format.
public protocol PostgresEncodable: Sendable {
    /// The declared type of the parameter.
    static var postgresType: PostgresType { get }
    /// Whether the value is NULL; false by default.
    var isPostgresNull: Bool { get }
    /// Appends the value, which is not NULL.
    func encode(into buffer: inout [UInt8])
}

extension PostgresEncodable {
    /// False by default.
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
    /// Throws `decoding` by default.
    public init(postgresNull type: PostgresType) throws(PostgresError) {
        throw PostgresError(.decoding, "NULL does not fit \(Self.self)")
    }
}

extension Optional: PostgresEncodable where Wrapped: PostgresEncodable {
    /// The wrapped type's.
    public static var postgresType: PostgresType { Wrapped.postgresType }

    /// True for nil and for a wrapped NULL.
    @inlinable
    public var isPostgresNull: Bool { self?.isPostgresNull ?? true }

    /// Appends nothing for nil.
    @inlinable
    public func encode(into buffer: inout [UInt8]) {
        self?.encode(into: &buffer)
    }
}

extension Optional: PostgresDecodable where Wrapped: PostgresDecodable {
    /// Reads the wrapped value.
    @inlinable
    public init(postgres bytes: UnsafeRawBufferPointer, type: PostgresType) throws(PostgresError) {
        self = .some(try Wrapped(postgres: bytes, type: type))
    }

    /// Makes nil.
    @inlinable
    public init(postgresNull type: PostgresType) throws(PostgresError) {
        self = .none
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
