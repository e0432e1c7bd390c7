import HTTPTypes
import RegistryCore
import Synchronization

/// Identifies a request in its response and in the log.
enum RequestID {
    static let field = HTTPField.Name("Request-Id")!

    /// The caller's id if it has 1 to 128 visible ASCII characters, otherwise 32 random hex digits.
    static func choose(_ given: String?) -> String {
        guard let given, (1...128).contains(given.utf8.count), given.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else { return random() }
        return given
    }

    /// Not secret. Mixes a random number of this process with a counter, which saves a system call per request.
    private static func random() -> String {
        let count = counter.add(1, ordering: .relaxed).newValue
        let halves = ((process ^ mix(count)).bigEndian, mix(count &+ process).bigEndian)
        return withUnsafeBytes(of: halves) { Hexadecimal.encode($0) }
    }

    private static let process = UInt64.random(in: .min ... .max)
    private static let counter = Atomic<UInt64>(0)

    /// A permutation that separates neighbours (the finalizer of MurmurHash3).
    private static func mix(_ number: UInt64) -> UInt64 {
        var mixed = number
        mixed = (mixed ^ (mixed >> 33)) &* 0xFF51_AFD7_ED55_8CCD
        mixed = (mixed ^ (mixed >> 33)) &* 0xC4CE_B9FE_1A85_EC53
        return mixed ^ (mixed >> 33)
    }
}

/// The caller's `traceparent` (W3C Trace Context, level 1).
struct TraceParent: Sendable, Hashable {
    static let field = HTTPField.Name("traceparent")!

    /// 32 lower-case hex digits, common to all services of the trace.
    let traceID: String
    /// 16 lower-case hex digits of the caller's span.
    let parentID: String

    /// Nil if invalid, which is not an error of the request.
    init?(_ text: String?) {
        // Later versions add data after another hyphen.
        let pattern = /([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-.*)?/
        guard let parts = text?.wholeMatch(of: pattern), parts.1 != "ff", parts.1 != "00" || parts.4 == nil,
            // All zeros are invalid.
            parts.2.contains(where: { $0 != "0" }), parts.3.contains(where: { $0 != "0" })
        else { return nil }
        (traceID, parentID) = (String(parts.2), String(parts.3))
    }
}
