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
