/// A text that must not reach a log or an error: an API key, a bearer token, a password.
///
/// Prints as `…`. Comparison takes constant time.
package struct Secret: Sendable, Equatable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Never print it.
    package let revealed: String
    package init(_ text: String) { revealed = text }
    package var description: String { "…" }
    package var debugDescription: String { "…" }
    package var customMirror: Mirror { Mirror(self, children: EmptyCollection<Mirror.Child>()) }

    package static func == (left: Secret, right: Secret) -> Bool {
        ConstantTime.areEqual(left.revealed, right.revealed)
    }
}

/// The duration of a comparison reveals only the lengths.
package enum ConstantTime {
    package static func areEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        left.withUnsafeBufferPointer { left in right.withUnsafeBufferPointer { areEqual(left, $0) } }
    }

    package static func areEqual(_ left: String, _ right: String) -> Bool {
        var (left, right) = (left, right)
        return left.withUTF8 { left in right.withUTF8 { areEqual(left, $0) } }
    }

    @inline(never)
    private static func areEqual(_ left: UnsafeBufferPointer<UInt8>, _ right: UnsafeBufferPointer<UInt8>) -> Bool {
        guard left.count == right.count else { return false }
        return zip(left, right).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
    }
}
