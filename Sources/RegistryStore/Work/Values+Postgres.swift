import PostgresDriver
import RegistryCore
import RegistryRules

/// Reading does not check values, because they were checked when stored.
extension UTF8Text: PostgresEncodable, PostgresDecodable, PostgresArrayElement {
    package static var postgresType: PostgresType { String.postgresType }
    package func encode(into buffer: inout [UInt8]) { string.encode(into: &buffer) }

    /// - Throws: `decoding` if the bytes are not UTF-8.
    package init(postgres bytes: UnsafeRawBufferPointer, type: PostgresType) throws(PostgresError) {
        self.init(try String(postgres: bytes, type: type))
    }
}

extension ActivityID: PostgresEncodable, PostgresDecodable, PostgresArrayElement {
    package static var postgresType: PostgresType { UTF8Text.postgresType }
    package func encode(into buffer: inout [UInt8]) { rawValue.encode(into: &buffer) }

    package init(postgres bytes: UnsafeRawBufferPointer, type: PostgresType) throws(PostgresError) {
        self.init(stored: try UTF8Text(postgres: bytes, type: type))
    }
}

extension AttributesType: PostgresEncodable, PostgresDecodable, PostgresArrayElement {
    package static var postgresType: PostgresType { UTF8Text.postgresType }
    package func encode(into buffer: inout [UInt8]) { rawValue.encode(into: &buffer) }

    package init(postgres bytes: UnsafeRawBufferPointer, type: PostgresType) throws(PostgresError) {
        self.init(stored: try UTF8Text(postgres: bytes, type: type))
    }
}

extension PushToken: PostgresEncodable, PostgresDecodable, PostgresArrayElement {
    package static var postgresType: PostgresType { .bytea }
    package func encode(into buffer: inout [UInt8]) { bytes.encode(into: &buffer) }

    package init(postgres bytes: UnsafeRawBufferPointer, type: PostgresType) throws(PostgresError) {
        self.init(bytes: try [UInt8](postgres: bytes, type: type))
    }
}

extension InstallationHash: PostgresEncodable, PostgresDecodable, PostgresArrayElement {
    package static var postgresType: PostgresType { .bytea }
    package func encode(into buffer: inout [UInt8]) { bytes.encode(into: &buffer) }

    package init(postgres bytes: UnsafeRawBufferPointer, type: PostgresType) throws(PostgresError) {
        self.init(bytes: try [UInt8](postgres: bytes, type: type))
    }
}

extension LeaseID: PostgresEncodable, PostgresDecodable, PostgresArrayElement {
    package static var postgresType: PostgresType { .bytea }
    package func encode(into buffer: inout [UInt8]) { bytes.encode(into: &buffer) }

    package init(postgres bytes: UnsafeRawBufferPointer, type: PostgresType) throws(PostgresError) {
        self.init(stored: try [UInt8](postgres: bytes, type: type))
    }
}

extension Timestamp: PostgresEncodable, PostgresDecodable, PostgresArrayElement {
    package static var postgresType: PostgresType { .timestamptz }
    package func encode(into buffer: inout [UInt8]) { microseconds.encode(into: &buffer) }

    package init(postgres bytes: UnsafeRawBufferPointer, type: PostgresType) throws(PostgresError) {
        guard type == .timestamptz else { throw .mismatch(type, Self.self) }
        self.init(microseconds: try Int64(postgres: bytes, type: .int8))
    }
}

extension RowPosition: PostgresEncodable, PostgresDecodable, PostgresArrayElement {
    package static var postgresType: PostgresType { .tid }

    package func encode(into buffer: inout [UInt8]) {
        withUnsafeBytes(of: page.bigEndian) { buffer.append(contentsOf: $0) }
        withUnsafeBytes(of: item.bigEndian) { buffer.append(contentsOf: $0) }
    }

    package init(postgres bytes: UnsafeRawBufferPointer, type: PostgresType) throws(PostgresError) {
        guard type == .tid, bytes.count == 6 else { throw .mismatch(type, Self.self) }
        let page = UInt32(bigEndian: bytes.loadUnaligned(as: UInt32.self))
        self.init(page: page, item: UInt16(bigEndian: bytes.loadUnaligned(fromByteOffset: 4, as: UInt16.self)))
    }
}

extension APNSEnvironment: PostgresEncodable {}
extension BroadcastChannel.StoragePolicy: PostgresEncodable, PostgresDecodable {}

extension RawRepresentable {
    /// - Throws: ``UnreadableRow`` if no such case exists.
    init(stored raw: RawValue) throws {
        guard let value = Self(rawValue: raw) else { throw UnreadableRow(detail: "\(Self.self) has no value \(raw)") }
        self = value
    }
}

extension ActivityState: PostgresDecodable {}
extension TokenAvailability: PostgresDecodable {}
extension WithholdingReason: PostgresEncodable, PostgresDecodable, PostgresArrayElement {}
extension ActivityPushType: PostgresEncodable, PostgresDecodable {}
extension EndReason: PostgresEncodable, PostgresDecodable, PostgresArrayElement {}
extension NewAuditEvent.Kind: PostgresEncodable, PostgresDecodable, PostgresArrayElement {}
