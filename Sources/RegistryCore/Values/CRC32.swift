/// The checksum of ISO 3309, zlib and PNG. It detects typing errors and gives no protection against an attacker.
enum CRC32 {
    /// Polynomial 0x04C11DB7, reflected, with all ones as initial value and final XOR.
    static func checksum(_ bytes: some Sequence<UInt8>) -> UInt32 {
        ~bytes.reduce(UInt32.max) { remainder, byte in
            (0..<8).reduce(remainder ^ UInt32(byte)) { rest, _ in (rest >> 1) ^ (rest & 1 == 1 ? 0xEDB8_8320 : 0) }
        }
    }
}
