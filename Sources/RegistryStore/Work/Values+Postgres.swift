import PostgresDriver
import RegistryCore

/// Bound and read as a `String` is.
extension UTF8Text: PostgresEncodable, PostgresDecodable, PostgresArrayElement {
    /// text.
    package static var postgresType: PostgresType { String.postgresType }

    /// Appends the text in UTF-8.
    package func encode(into buffer: inout [UInt8]) { string.encode(into: &buffer) }

    /// Reads UTF-8, and throws `decoding` when the bytes are not that.
    package init(postgres bytes: UnsafeRawBufferPointer, type: PostgresType) throws(PostgresError) {
        self.init(try String(postgres: bytes, type: type))
    }
}

/// Bound and read as its text. What is stored was checked when it came.
extension ActivityID: PostgresEncodable, PostgresDecodable, PostgresArrayElement {
    /// text.
    package static var postgresType: PostgresType { UTF8Text.postgresType }

    /// Appends the id in UTF-8.
    package func encode(into buffer: inout [UInt8]) { rawValue.encode(into: &buffer) }

    /// Reads an id without checking it again.
    package init(postgres bytes: UnsafeRawBufferPointer, type: PostgresType) throws(PostgresError) {
        self.init(stored: try UTF8Text(postgres: bytes, type: type))
    }
}

/// Bound and read as its text. What is stored was checked when it came.
extension AttributesType: PostgresEncodable, PostgresDecodable, PostgresArrayElement {
    /// text.
    package static var postgresType: PostgresType { UTF8Text.postgresType }

    /// Appends the name in UTF-8.
    package func encode(into buffer: inout [UInt8]) { rawValue.encode(into: &buffer) }

    /// Reads a name without checking it again.
    package init(postgres bytes: UnsafeRawBufferPointer, type: PostgresType) throws(PostgresError) {
        self.init(stored: try UTF8Text(postgres: bytes, type: type))
    }
}

/// Bound and read as its bytes.
extension PushToken: PostgresEncodable, PostgresDecodable, PostgresArrayElement {
    /// bytea.
    package static var postgresType: PostgresType { .bytea }

    /// Appends the token's bytes.
    package func encode(into buffer: inout [UInt8]) { bytes.encode(into: &buffer) }

    /// Reads a token without checking it again.
    package init(postgres bytes: UnsafeRawBufferPointer, type: PostgresType) throws(PostgresError) {
        self.init(bytes: try [UInt8](postgres: bytes, type: type))
    }
}

/// Bound and read as its bytes.
extension InstallationHash: PostgresEncodable, PostgresDecodable, PostgresArrayElement {
    /// bytea.
    package static var postgresType: PostgresType { .bytea }

    /// Appends the hash's bytes.
    package func encode(into buffer: inout [UInt8]) { bytes.encode(into: &buffer) }

    /// Reads a hash without checking it again.
    package init(postgres bytes: UnsafeRawBufferPointer, type: PostgresType) throws(PostgresError) {
        self.init(bytes: try [UInt8](postgres: bytes, type: type))
    }
}

/// Bound and read as its bytes.
extension LeaseID: PostgresEncodable, PostgresDecodable, PostgresArrayElement {
    /// bytea.
    package static var postgresType: PostgresType { .bytea }

    /// Appends the id's bytes.
    package func encode(into buffer: inout [UInt8]) { bytes.encode(into: &buffer) }

    /// Reads an id.
    package init(postgres bytes: UnsafeRawBufferPointer, type: PostgresType) throws(PostgresError) {
        self.init(stored: try [UInt8](postgres: bytes, type: type))
    }
}

extension Columns where Value: RawRepresentable & Sendable, Value.RawValue: PostgresDecodable & Sendable {
    /// One column of a word or number that stands for a value; another one throws ``UnreadableRow``.
    static func raw(_ sql: String) -> Columns { Columns(sql: sql) { try Value(stored: $0.next()) } }
}

extension Columns {
    /// The same of one that may be null.
    static func raw<Wrapped: RawRepresentable & Sendable>(_ sql: String) -> Columns
    where Value == Wrapped?, Wrapped.RawValue: PostgresDecodable & Sendable {
        Columns(sql: sql) { try $0.next(as: Wrapped.RawValue?.self).map(Wrapped.init(stored:)) }
    }
}

extension RawRepresentable {
    /// The case that a column names.
    ///
    /// - Throws: ``UnreadableRow`` when there is no such case.
    init(stored raw: RawValue) throws {
        guard let value = Self(rawValue: raw) else { throw UnreadableRow(detail: "\(Self.self) has no value \(raw)") }
        self = value
    }
}

extension Columns<[UInt8]?> {
    /// One column of `jsonb`, as the JSON that it is.
    static func json(_ sql: String) -> Columns {
        Columns(.one(sql), as: { (json: JSONB?) in json?.bytes })
    }
}
