import PostgresDriver
import RegistryCore

/// Bound and read as a `String` is.
extension UTF8Text: PostgresEncodable, PostgresDecodable, PostgresArrayElement {
    /// text.
    public static var postgresType: PostgresType { String.postgresType }

    /// Appends the text in UTF-8.
    public func encode(into buffer: inout [UInt8]) { string.encode(into: &buffer) }

    /// Reads UTF-8, and throws `decoding` when the bytes are not that.
    public init(postgres bytes: UnsafeRawBufferPointer, type: PostgresType) throws(PostgresError) {
        self.init(try String(postgres: bytes, type: type))
    }
}

/// Bound and read as its text. What is stored was checked when it came.
extension ActivityID: PostgresEncodable, PostgresDecodable, PostgresArrayElement {
    /// text.
    public static var postgresType: PostgresType { UTF8Text.postgresType }

    /// Appends the id in UTF-8.
    public func encode(into buffer: inout [UInt8]) { rawValue.encode(into: &buffer) }

    /// Reads an id without checking it again.
    public init(postgres bytes: UnsafeRawBufferPointer, type: PostgresType) throws(PostgresError) {
        self.init(stored: try UTF8Text(postgres: bytes, type: type))
    }
}
