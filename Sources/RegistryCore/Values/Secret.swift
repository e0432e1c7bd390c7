/// A text that must reach neither a log nor an error: an API key, the bearer text of a request, a password.
///
/// It prints as `…`, whichever way it is printed; only `revealed` gives the text. Two are compared in time that tells
/// nothing of where they differ.
package struct Secret: Sendable, Equatable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The text itself: for the one place that needs it, and nothing that prints.
    package let revealed: String

    /// Makes a secret of a text.
    package init(_ text: String) { revealed = text }

    /// `…`
    package var description: String { "…" }
    /// `…`
    package var debugDescription: String { "…" }
    /// Has no children, so `dump` shows nothing either.
    package var customMirror: Mirror { Mirror(self, children: EmptyCollection<Mirror.Child>()) }

    /// Compares all bytes, wherever the first difference lies.
    package static func == (left: Secret, right: Secret) -> Bool {
        ConstantTime.areEqual(left.revealed, right.revealed)
    }
}
