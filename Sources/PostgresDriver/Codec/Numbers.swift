// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

extension Bool: PostgresEncodable, PostgresDecodable {
    public static var postgresType: PostgresType { .bool }

    public func encode(into buffer: inout [UInt8]) {
        buffer.append(self ? 1 : 0)
    }

    public init(postgres bytes: UnsafeRawBufferPointer, type: PostgresType) throws(PostgresError) {
        guard type == .bool else { throw .mismatch(type, Self.self) }
        self = try WireReader.only(UInt8.self, in: bytes) != 0
    }
}

/// Bound in their own width; read from int2, int4 and int8 if the value fits.
extension FixedWidthInteger where Self: PostgresEncodable & PostgresDecodable {
    public func encode(into buffer: inout [UInt8]) {
        buffer.append(bigEndian: self)
    }

    /// - Throws: `decoding` if the value does not fit.
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

extension Int16: PostgresEncodable, PostgresDecodable {
    public static var postgresType: PostgresType { .int2 }
}

extension Int32: PostgresEncodable, PostgresDecodable {
    public static var postgresType: PostgresType { .int4 }
}

extension Int64: PostgresEncodable, PostgresDecodable {
    public static var postgresType: PostgresType { .int8 }
}

/// int8 on every platform.
extension Int: PostgresEncodable, PostgresDecodable {
    public static var postgresType: PostgresType { .int8 }

    public func encode(into buffer: inout [UInt8]) {
        buffer.append(bigEndian: Int64(self))
    }
}

/// Bound as float8; read from float8, or from float4 exactly.
extension Double: PostgresEncodable, PostgresDecodable {
    public static var postgresType: PostgresType { .float8 }

    public func encode(into buffer: inout [UInt8]) {
        buffer.append(bigEndian: bitPattern)
    }

    public init(postgres bytes: UnsafeRawBufferPointer, type: PostgresType) throws(PostgresError) {
        switch type {
        case .float8: self.init(bitPattern: try WireReader.only(UInt64.self, in: bytes))
        case .float4: self.init(Float(bitPattern: try WireReader.only(UInt32.self, in: bytes)))
        default: throw .mismatch(type, Self.self)
        }
    }
}
