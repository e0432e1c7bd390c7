/// A type whose values can be bound to a statement, in Postgres's binary format.
public protocol PostgresEncodable: Sendable {
    /// The type that the parameter is declared as.
    static var postgresType: PostgresType { get }
    /// Whether the value is NULL; false unless the type says otherwise.
    var isPostgresNull: Bool { get }
    /// The value is not NULL.
    func encode(into buffer: inout [UInt8])
}

extension PostgresEncodable {
    /// False: no value of the type is NULL.
    @inlinable
    public var isPostgresNull: Bool { false }
}

/// A type whose values can be read from a column, in Postgres's binary format.
public protocol PostgresDecodable: SendableMetatype {
    /// The value is not NULL.
    ///
    /// - Throws: ``PostgresError/Code/decoding`` if the column's type or its bytes do not fit.
    init(postgres bytes: UnsafeRawBufferPointer, type: PostgresType) throws(PostgresError)
    /// - Throws: ``PostgresError/Code/decoding`` unless the type has a value for NULL; only `Optional` has.
    init(postgresNull type: PostgresType) throws(PostgresError)
}

extension PostgresDecodable {
    /// Throws `decoding`, as the type has no value for NULL.
    public init(postgresNull type: PostgresType) throws(PostgresError) {
        throw PostgresError(.decoding, "NULL does not fit \(Self.self)")
    }
}

extension Optional: PostgresEncodable where Wrapped: PostgresEncodable {
    /// The type of the wrapped values.
    public static var postgresType: PostgresType { Wrapped.postgresType }

    /// True for nil, and for a wrapped NULL.
    @inlinable
    public var isPostgresNull: Bool { self?.isPostgresNull ?? true }

    /// Nil is bound as NULL, without bytes.
    @inlinable
    public func encode(into buffer: inout [UInt8]) {
        self?.encode(into: &buffer)
    }
}

extension Optional: PostgresDecodable where Wrapped: PostgresDecodable {
    /// Reads a value that is not NULL as the wrapped type does.
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
        PostgresError(.decoding, "the bytes are no \(target)")
    }
}
