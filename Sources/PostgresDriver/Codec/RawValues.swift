/// An enum with raw values is bound as its raw value once it declares the conformance.
extension PostgresEncodable where Self: RawRepresentable, RawValue: PostgresEncodable {
    /// The type of the raw values.
    public static var postgresType: PostgresType { RawValue.postgresType }

    /// Appends the raw value.
    public func encode(into buffer: inout [UInt8]) { rawValue.encode(into: &buffer) }
}

/// An enum with raw values is read from its raw value once it declares the conformance.
extension PostgresDecodable where Self: RawRepresentable, RawValue: PostgresDecodable {
    /// - Throws: `decoding` if the raw value has no case.
    public init(postgres bytes: UnsafeRawBufferPointer, type: PostgresType) throws(PostgresError) {
        guard let value = Self(rawValue: try RawValue(postgres: bytes, type: type)) else { throw .malformed(Self.self) }
        self = value
    }
}
