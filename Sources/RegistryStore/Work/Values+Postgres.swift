import Crypto
import Foundation
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

    package func encode(into buffer: inout [UInt8]) {
        withUnsafeBytes(of: microseconds.bigEndian) { buffer.append(contentsOf: $0) }
    }

    package init(postgres bytes: UnsafeRawBufferPointer, type: PostgresType) throws(PostgresError) {
        guard type == .timestamptz, bytes.count == 8 else { throw .mismatch(type, Self.self) }
        self.init(microseconds: Int64(bigEndian: bytes.loadUnaligned(as: Int64.self)))
    }
}

// swift-format-ignore: AllPublicDeclarationsHaveDocumentation
/// Bound and read like a ``Timestamp``.
extension Date: PostgresEncodable, PostgresDecodable, PostgresArrayElement {
    public static var postgresType: PostgresType { .timestamptz }
    public func encode(into buffer: inout [UInt8]) { Timestamp(self).encode(into: &buffer) }

    public init(postgres bytes: UnsafeRawBufferPointer, type: PostgresType) throws(PostgresError) {
        self = try Timestamp(postgres: bytes, type: type).date
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

/// A value replaced as a whole, in a jsonb column.
protocol StoredJSON: CanonicalValue {
    init(stored: JSONB) throws
}

extension AliasSet: StoredJSON {
    init(stored: JSONB) throws {
        guard let value = JSONValue(stored: stored.bytes), let set = try? AliasSet(stored: value) else {
            throw UnreadableRow(detail: "aliases are not valid")
        }
        self = set
    }

    private init(stored value: JSONValue) throws(JSONFaultReason) {
        var aliases: [Alias] = []
        for (kind, values) in try JSONObject.read(value) {
            for element in try [JSONValue].read(values) {
                let text = UTF8Text(try String.read(element))
                aliases.append(Alias(checkedKind: UTF8Text(kind), value: text))
            }
        }
        self.init(stored: aliases)
    }
}

extension Metadata: StoredJSON {
    init(stored: JSONB) throws {
        guard let value = JSONValue(stored: stored.bytes) else { throw UnreadableRow(detail: "metadata is not JSON") }
        self.init(stored: value)
    }
}

extension CanonicalValue {
    var jsonb: JSONB { JSONB(canonicalJSON) }
}

extension Stamped where Value: StoredJSON {
    /// Nil without a value. A value without a time is older than all others.
    init?(_ row: NamedRow, _ column: StaticString, observedAt: StaticString) throws {
        guard let json: JSONB = try row[column] else { return nil }
        self.init(try Value(stored: json), observedAt: try row[observedAt] ?? .distantPast)
    }
}

extension JSONValue {
    /// Nil if invalid. Allows every depth, because it was checked when received.
    init?(stored bytes: [UInt8]) {
        guard let value = try? JSONParser.parse(bytes, maximumDepth: JSONParser.deepestNesting) else { return nil }
        self = value
    }
}

extension TokenDigest {
    /// The key of the value's row. Computed once here, not in every statement.
    init(_ token: PushToken) { self.init(bytes: Array(SHA256.hash(data: token.bytes).prefix(15))) }
}

extension InstallationHash {
    /// The SHA-256 of the bundle id, a NUL byte and the installation id, so that hashes of two apps never match.
    package init(of installation: InstallationID, in app: BundleID) {
        let digest = SHA256.hash(data: Data("\(app.rawValue)\0\(installation.rawValue)".utf8))
        self.init(bytes: Array(digest))
    }
}

extension APIKey {
    package var secretDigest: [UInt8] { Array(SHA256.hash(data: Data(secret.revealed.utf8))) }
}

package enum TokenFingerprint {
    /// The first 4 bytes of the token's SHA-256, in lower-case hex.
    package static func text(of token: [UInt8]) -> String {
        Hexadecimal.encode(Array(SHA256.hash(data: Data(token)).prefix(4)))
    }
}
