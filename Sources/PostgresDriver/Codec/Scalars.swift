// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

/// A type with a column of its own and in arrays.
public typealias PostgresScalar = PostgresEncodable & PostgresDecodable & PostgresArrayElement

extension Bool: PostgresScalar {
    public static var postgresType: PostgresType { .bool }
    public func encode(into buffer: inout [UInt8]) { buffer.append(self ? 1 : 0) }

    public init(postgres bytes: UnsafeRawBufferPointer, type: PostgresType) throws(PostgresError) {
        guard type == .bool else { throw .mismatch(type, Self.self) }
        self = try WireReader.only(UInt8.self, in: bytes) != 0
    }
}

/// Bound in their own width; read from int2, int4 and int8 if the value fits.
extension FixedWidthInteger where Self: PostgresEncodable & PostgresDecodable {
    public func encode(into buffer: inout [UInt8]) { buffer.append(bigEndian: self) }

    public init(postgres bytes: UnsafeRawBufferPointer, type: PostgresType) throws(PostgresError) {
        let wide =
            switch type {
            case .int2: Int64(try WireReader.only(Int16.self, in: bytes))
            case .int4: Int64(try WireReader.only(Int32.self, in: bytes))
            case .int8: try WireReader.only(Int64.self, in: bytes)
            default: throw .mismatch(type, Self.self)
            }
        guard let exact = Self(exactly: wide) else {
            throw PostgresError(.decoding, "a number does not fit \(Self.self)")
        }
        self = exact
    }
}

extension Int16: PostgresScalar {
    public static var postgresType: PostgresType { .int2 }
}

extension Int32: PostgresScalar {
    public static var postgresType: PostgresType { .int4 }
}

extension Int64: PostgresScalar {
    public static var postgresType: PostgresType { .int8 }
}

/// int8 on every platform.
extension Int: PostgresScalar {
    public static var postgresType: PostgresType { .int8 }
    public func encode(into buffer: inout [UInt8]) { buffer.append(bigEndian: Int64(self)) }
}

extension Double: PostgresScalar {
    public static var postgresType: PostgresType { .float8 }
    public func encode(into buffer: inout [UInt8]) { buffer.append(bigEndian: bitPattern) }

    public init(postgres bytes: UnsafeRawBufferPointer, type: PostgresType) throws(PostgresError) {
        guard type == .float8 else { throw .mismatch(type, Self.self) }
        self.init(bitPattern: try WireReader.only(UInt64.self, in: bytes))
    }
}

/// Bound as text. Read from text types, and from enums and other user-defined types with a textual binary format.
extension String: PostgresScalar {
    public static var postgresType: PostgresType { .text }
    public func encode(into buffer: inout [UInt8]) { buffer.append(contentsOf: utf8) }

    public init(postgres bytes: UnsafeRawBufferPointer, type: PostgresType) throws(PostgresError) {
        switch type {
        case .text, .varchar, .bpchar, .name, .unknown, .json: break
        default: guard type.isUserDefined else { throw .mismatch(type, Self.self) }
        }
        do throws(UTF8.ValidationError) {
            self.init(copying: try UTF8Span(validating: bytes.assumingMemoryBound(to: UInt8.self).span))
        } catch { throw .malformed(Self.self) }
    }
}

/// JSON text in UTF-8 for a jsonb column. The server validates and normalises it; the driver does not parse it.
package struct JSONB: Hashable, PostgresScalar {
    package let bytes: [UInt8]

    package init(_ bytes: [UInt8]) { self.bytes = bytes }

    package static var postgresType: PostgresType { .jsonb }

    /// The only version of the binary format that `jsonb_recv` accepts.
    private static let version: UInt8 = 1

    package func encode(into buffer: inout [UInt8]) {
        buffer.append(Self.version)
        buffer.append(contentsOf: bytes)
    }

    package init(postgres bytes: UnsafeRawBufferPointer, type: PostgresType) throws(PostgresError) {
        guard type == .jsonb else { throw .mismatch(type, Self.self) }
        guard bytes.first == Self.version else { throw .malformed(Self.self) }
        self.bytes = Array(bytes.dropFirst())
    }
}

/// interval: bound as rounded microseconds, exact up to 285 years. A day counts as 24 hours.
///
/// Decoding fails for intervals with months, because their length varies.
extension Duration: PostgresScalar {
    public static var postgresType: PostgresType { .interval }

    public func encode(into buffer: inout [UInt8]) {
        let microseconds = (self / .microseconds(1)).rounded()
        buffer.append(bigEndian: Int64(exactly: microseconds) ?? (microseconds < 0 ? .min : .max))
        buffer.append(bigEndian: Int64(0))  // days and months
    }

    public init(postgres bytes: UnsafeRawBufferPointer, type: PostgresType) throws(PostgresError) {
        guard type == .interval else { throw .mismatch(type, Self.self) }
        var reader = WireReader(bytes)
        let microseconds = try reader.integer(Int64.self)
        let days = try reader.integer(Int32.self)
        let months = try reader.integer(Int32.self)
        guard reader.rest.isEmpty else { throw .malformed(Self.self) }
        guard months == 0 else { throw PostgresError(.decoding, "an interval with months has no fixed length") }
        self = .microseconds(microseconds) + .seconds(Int64(days) * 86_400)
    }
}
