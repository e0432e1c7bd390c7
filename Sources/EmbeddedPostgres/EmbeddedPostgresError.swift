import Foundation

package struct EmbeddedPostgresError: Error, Sendable, CustomStringConvertible {
    /// The failure and its remedy, without secrets.
    package let description: String

    init(_ description: String) { self.description = description }

    static func system(_ action: String, _ path: String, _ number: CInt = errno) -> EmbeddedPostgresError {
        let reason = String(cString: strerror(number))
        let advice =
            number == EACCES || number == EPERM
            ? "Run as the directory's owner or as root, or choose another directory."
            : "Fix the cause, or choose another directory."
        return EmbeddedPostgresError("Cannot \(action) \(path): \(reason). \(advice)")
    }
}
