import Foundation

/// Bound as text. Read from text types, and from enums and other user-defined types with a textual binary format.
extension String: PostgresEncodable, PostgresDecodable {
    /// text.
    public static var postgresType: PostgresType { .text }

    /// Appends UTF-8 without a terminator.
    public func encode(into buffer: inout [UInt8]) {
        buffer.append(contentsOf: utf8)
    }

    /// - Throws: `decoding` if the bytes are not UTF-8.
    public init(postgres bytes: UnsafeRawBufferPointer, type: PostgresType) throws(PostgresError) {
        switch type {
        case .text, .varchar, .bpchar, .name, .unknown, .json: break
        default: guard type.isUserDefined else { throw .mismatch(type, Self.self) }
        }
        do throws(UTF8.ValidationError) {
            self.init(copying: try UTF8Span(validating: bytes.assumingMemoryBound(to: UInt8.self).span))
        } catch {
            throw .malformed(Self.self)
        }
    }
}

/// JSON text in UTF-8 for a jsonb column. The server validates and normalises it; the driver does not parse it.
public struct JSONB: Hashable, Sendable, PostgresEncodable, PostgresDecodable {
    /// The JSON text in UTF-8.
    public let bytes: [UInt8]

    /// Wraps JSON text in UTF-8.
    public init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// The JSON text.
    public var text: String { String(decoding: bytes, as: UTF8.self) }

    /// jsonb.
    public static var postgresType: PostgresType { .jsonb }

    /// The only version of the binary format that `jsonb_recv` accepts.
    private static let version: UInt8 = 1

    /// Appends the format version and the text.
    public func encode(into buffer: inout [UInt8]) {
        buffer.append(Self.version)
        buffer.append(contentsOf: bytes)
    }

    /// Reads a json or jsonb column.
    public init(postgres bytes: UnsafeRawBufferPointer, type: PostgresType) throws(PostgresError) {
        switch type {
        case .json: self.bytes = Array(bytes)
        case .jsonb where bytes.first == Self.version: self.bytes = Array(bytes.dropFirst())
        case .jsonb: throw .malformed(Self.self)
        default: throw .mismatch(type, Self.self)
        }
    }
}
