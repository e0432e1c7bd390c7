import Foundation

/// How large the proofs are: small by default, full with `deploy/test --long`.
package enum TestScale {
    /// Whether the proofs are full: `PUSHREG_TEST_LONG` is `1`.
    package static let isLong = ProcessInfo.processInfo.environment["PUSHREG_TEST_LONG"] == "1"
}
