/// A type whose values can be bound to a statement, in Postgres's binary format.
public protocol PostgresEncodable: Sendable {
    /// The type that the parameter is declared as.
    static var postgresType: PostgresType { get }
    /// Whether the value is NULL; false unless the type says otherwise.
    var isPostgresNull: Bool { get }
    /// Appends the binary format of the value, which is not NULL.
    func encode(into buffer: inout [UInt8])
}

extension PostgresEncodable {
    /// False: no value of the type is NULL.
    @inlinable
    public var isPostgresNull: Bool { false }
}

/// A type whose values can be read from a column, in Postgres's binary format.
public protocol PostgresDecodable: SendableMetatype {
    /// Reads a value that is not NULL.
    ///
    /// - Throws: ``PostgresError/Code/decoding`` when the column's type or its bytes do not fit.
    init(postgres bytes: UnsafeRawBufferPointer, type: PostgresType) throws(PostgresError)
    /// Makes the value for NULL.
    ///
    /// - Throws: ``PostgresError/Code/decoding`` unless the type has such a value; only `Optional` has.
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

    /// Whether it is nil, or wraps a value that is NULL itself.
    @inlinable
    public var isPostgresNull: Bool { self?.isPostgresNull ?? true }

    /// Appends the wrapped value; nothing for nil, which is bound as NULL.
    @inlinable
    public func encode(into buffer: inout [UInt8]) {
        self?.encode(into: &buffer)
    }
}

extension Optional: PostgresDecodable where Wrapped: PostgresDecodable {
    /// Reads a value that is not NULL as the wrapped type does.
    public init(postgres bytes: UnsafeRawBufferPointer, type: PostgresType) throws(PostgresError) {
        self = .some(try Wrapped(postgres: bytes, type: type))
    }

    /// Makes nil.
    public init(postgresNull type: PostgresType) throws(PostgresError) {
        self = .none
    }
}

extension PostgresError {
    static func mismatch<Value>(_ type: PostgresType, _ target: Value.Type) -> PostgresError {
        PostgresError(.decoding, "type \(type.rawValue) does not fit \(target)")
    }

    static func malformed<Value>(_ target: Value.Type) -> PostgresError {
        PostgresError(.decoding, "the bytes are no \(target)")
    }
}
