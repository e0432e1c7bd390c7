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

    /// The first seed of a test's random histories, new in each run, or `PUSHREG_TEST_SEED`. Print it, so that a
    /// failure can be repeated.
    package static func firstSeed() -> UInt64 {
        let given = ProcessInfo.processInfo.environment["PUSHREG_TEST_SEED"]
        return given.flatMap { UInt64($0) } ?? .random(in: 0..<1 << 32)
    }
}

/// The size of long tests: small by default, full with `deploy/test --long` (`PUSHREG_TEST_LONG` is `1`).
package enum TestScale {
    package static let isLong = ProcessInfo.processInfo.environment["PUSHREG_TEST_LONG"] == "1"
}
