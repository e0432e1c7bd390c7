/// A text that must reach neither a log nor an error: an API key, the bearer text of a request, a password.
///
/// It prints as `…`, whichever way it is printed; only `revealed` gives the text. Two are compared in time that tells
/// nothing of where they differ.
public struct Secret: Sendable, Equatable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The text itself: for the one place that needs it, and nothing that prints.
    public let revealed: String

    /// Makes a secret of a text.
    public init(_ text: String) { revealed = text }

    /// `…`
    public var description: String { "…" }
    /// `…`
    public var debugDescription: String { "…" }
    /// Has no children, so `dump` shows nothing either.
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection<Mirror.Child>()) }

    /// Compares all bytes, wherever the first difference lies.
    public static func == (left: Secret, right: Secret) -> Bool {
        ConstantTime.areEqual(left.revealed, right.revealed)
    }
}

/// Comparisons whose duration tells nothing but the lengths.
public enum ConstantTime {
    /// Whether two rows of bytes are the same.
    public static func areEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        left.withUnsafeBufferPointer { left in right.withUnsafeBufferPointer { areEqual(left, $0) } }
    }

    /// Whether two texts are the same, byte by byte.
    public static func areEqual(_ left: String, _ right: String) -> Bool {
        var (left, right) = (left, right)
        return left.withUTF8 { left in right.withUTF8 { areEqual(left, $0) } }
    }

    @inline(never)
    private static func areEqual(_ left: UnsafeBufferPointer<UInt8>, _ right: UnsafeBufferPointer<UInt8>) -> Bool {
        guard left.count == right.count else { return false }
        return zip(left, right).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
    }
}
