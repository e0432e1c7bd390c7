import Foundation

/// How large the proofs are: small by default, full with `deploy/test --long`.
public enum TestScale {
    public static let isLong = ProcessInfo.processInfo.environment["PUSHREG_TEST_LONG"] == "1"
}
