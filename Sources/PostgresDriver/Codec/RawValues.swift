/// The implementation for enums that declare the conformance.
extension PostgresEncodable where Self: RawRepresentable, RawValue: PostgresEncodable {
    /// The raw value's type.
    public static var postgresType: PostgresType { RawValue.postgresType }

    /// Appends the raw value.
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
