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
