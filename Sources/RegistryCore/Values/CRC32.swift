/// The checksum of ISO 3309, zlib and PNG: finds typing errors, and is no protection against anyone.
enum CRC32 {
    /// The remainder by the polynomial 0x04C11DB7, bits reflected, begun and ended with all ones.
    static func checksum(_ bytes: some Sequence<UInt8>) -> UInt32 {
        ~bytes.reduce(UInt32.max) { remainder, byte in
            (0..<8).reduce(remainder ^ UInt32(byte)) { rest, _ in (rest >> 1) ^ (rest & 1 == 1 ? 0xEDB8_8320 : 0) }
        }
    }
}
