import Foundation

/// SplitMix64. Equal seeds give equal numbers, so failures can be repeated.
package struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64
    package init(seed: UInt64) { state = seed }

    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// Bytes with a meaning in JSON, times, targets or header fields, and bytes that are not ASCII.
    private static let telling =
        Array("\"\\{}[],:0123456789-+.eEutfnl%/?&=;TZPn \u{0}\u{1F}\u{7F}".utf8) + [0x80, 0xC3, 0xED, 0xEF, 0xF0, 0xFF]

    package mutating func byte() -> UInt8 {
        let isTelling = Bool.random(using: &self)
        return isTelling ? Self.telling.randomElement(using: &self) ?? 0 : .random(in: 0...255, using: &self)
    }

    /// Removes, changes, inserts or repeats bytes at a random position.
    package mutating func mutate(_ bytes: inout [UInt8]) {
        let index = Int.random(in: 0...bytes.count, using: &self)
        switch Int.random(in: 0..<6, using: &self) {
        case 0 where index < bytes.count: bytes.remove(at: index)
        case 1 where index < bytes.count: bytes[index] = byte()
        case 2 where index < bytes.count: bytes[index] ^= 1 << UInt8.random(in: 0..<8, using: &self)
        case 3: bytes.removeSubrange(index...)
        case 4: bytes.insert(contentsOf: bytes[..<index].suffix(8), at: index)
        default: bytes.insert(byte(), at: index)
        }
    }

    /// The first seed of a test's random histories, new in each run, or `PUSHREG_TEST_SEED`. Print it, so that a failure can be repeated.
    package static func firstSeed() -> UInt64 {
        let given = ProcessInfo.processInfo.environment["PUSHREG_TEST_SEED"]
        return given.flatMap { UInt64($0) } ?? .random(in: 0..<1 << 32)
    }
}

/// The size of long tests: small by default, full with `deploy/test --long` (`PUSHREG_TEST_LONG` is `1`).
package enum TestScale { package static let isLong = ProcessInfo.processInfo.environment["PUSHREG_TEST_LONG"] == "1" }
