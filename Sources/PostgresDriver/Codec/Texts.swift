// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
import Foundation

/// Bound as text. Read from text types, and from enums and other user-defined types with a textual binary format.
extension String: PostgresEncodable, PostgresDecodable {
    public static var postgresType: PostgresType { .text }

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
package struct JSONB: Hashable, Sendable, PostgresEncodable, PostgresDecodable {
    package let bytes: [UInt8]

    package init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    package static var postgresType: PostgresType { .jsonb }

    /// The only version of the binary format that `jsonb_recv` accepts.
    private static let version: UInt8 = 1

    package func encode(into buffer: inout [UInt8]) {
        buffer.append(Self.version)
        buffer.append(contentsOf: bytes)
    }

    package init(postgres bytes: UnsafeRawBufferPointer, type: PostgresType) throws(PostgresError) {
        switch type {
        case .json: self.bytes = Array(bytes)
        case .jsonb where bytes.first == Self.version: self.bytes = Array(bytes.dropFirst())
        case .jsonb: throw .malformed(Self.self)
        default: throw .mismatch(type, Self.self)
        }
    }
}
