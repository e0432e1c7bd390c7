import Foundation

/// The size of long tests: small by default, full with `deploy/test --long` (`PUSHREG_TEST_LONG` is `1`).
package enum TestScale {
    package static let isLong = ProcessInfo.processInfo.environment["PUSHREG_TEST_LONG"] == "1"
}
