extension Bool: PostgresEncodable, PostgresDecodable {
    /// bool.
    public static var postgresType: PostgresType { .bool }

    /// Appends 1 or 0.
    public func encode(into buffer: inout [UInt8]) {
        buffer.append(self ? 1 : 0)
    }

    /// Every byte except 0 is true.
    public init(postgres bytes: UnsafeRawBufferPointer, type: PostgresType) throws(PostgresError) {
        guard type == .bool else { throw .mismatch(type, Self.self) }
        self = try WireReader.only(UInt8.self, in: bytes) != 0
    }
}

/// Bound in their own width; read from int2, int4 and int8 if the value fits.
extension FixedWidthInteger where Self: PostgresEncodable & PostgresDecodable {
    /// Appends the integer in its own width.
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
    /// int2.
    public static var postgresType: PostgresType { .int2 }
}

extension Int32: PostgresEncodable, PostgresDecodable {
    /// int4.
    public static var postgresType: PostgresType { .int4 }
}

extension Int64: PostgresEncodable, PostgresDecodable {
    /// int8.
    public static var postgresType: PostgresType { .int8 }
}

extension Int: PostgresEncodable, PostgresDecodable {
    /// int8 on every platform.
    public static var postgresType: PostgresType { .int8 }

    /// Appends 8 bytes.
    public func encode(into buffer: inout [UInt8]) {
        buffer.append(bigEndian: Int64(self))
    }
}

extension Double: PostgresEncodable, PostgresDecodable {
    /// float8.
    public static var postgresType: PostgresType { .float8 }

    /// Appends 8 bytes of IEEE 754.
    public func encode(into buffer: inout [UInt8]) {
        buffer.append(bigEndian: bitPattern)
    }

    /// Reads a float8, or a float4 exactly.
    public init(postgres bytes: UnsafeRawBufferPointer, type: PostgresType) throws(PostgresError) {
        switch type {
        case .float8: self.init(bitPattern: try WireReader.only(UInt64.self, in: bytes))
        case .float4: self.init(Float(bitPattern: try WireReader.only(UInt32.self, in: bytes)))
        default: throw .mismatch(type, Self.self)
        }
    }
}
