import PostgresDriver
import RegistryCore
import RegistryRules

/// A value stored as text or bytes. Reading does not check it, because it was checked when stored.
package protocol StoredValue: PostgresEncodable, PostgresDecodable, PostgresArrayElement {
    associatedtype Stored: PostgresEncodable & PostgresDecodable
    var stored: Stored { get }
    init(stored: Stored)
}

extension StoredValue {
    package static var postgresType: PostgresType { Stored.postgresType }
    package func encode(into buffer: inout [UInt8]) { stored.encode(into: &buffer) }

    package init(postgres bytes: UnsafeRawBufferPointer, type: PostgresType) throws(PostgresError) {
        self.init(stored: try Stored(postgres: bytes, type: type))
    }
}

extension UTF8Text: StoredValue {
    package var stored: String { string }
    package init(stored: String) { self.init(stored) }
}

extension ActivityID: StoredValue {
    package var stored: UTF8Text { rawValue }
}

extension AttributesType: StoredValue {
    package var stored: UTF8Text { rawValue }
}

extension PushToken: StoredValue {
    package var stored: [UInt8] { bytes }
    package init(stored: [UInt8]) { self.init(bytes: stored) }
}

extension InstallationHash: StoredValue {
    package var stored: [UInt8] { bytes }
    package init(stored: [UInt8]) { self.init(bytes: stored) }
}

extension TokenDigest: StoredValue {
    package var stored: [UInt8] { bytes }
    package init(stored: [UInt8]) { self.init(bytes: stored) }
}

extension LeaseID: StoredValue {
    package var stored: [UInt8] { bytes }
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

extension APNSEnvironment: PostgresEncodable, PostgresDecodable {}
extension BroadcastChannel.StoragePolicy: PostgresEncodable, PostgresDecodable {}
extension ActivityState: PostgresDecodable {}
extension TokenAvailability: PostgresDecodable {}
extension WithholdingReason: PostgresEncodable, PostgresDecodable, PostgresArrayElement {}
extension EndReason: PostgresEncodable, PostgresDecodable, PostgresArrayElement {}
extension NewAuditEvent.Kind: PostgresEncodable, PostgresDecodable, PostgresArrayElement {}
