import Foundation

package struct EmbeddedPostgresError: Error, Sendable, CustomStringConvertible {
    package enum Code: Sendable {
        case notInstalled, directoryUnusable, otherVersion, initialisationFailed, startFailed
        /// Another program held a lock for too long.
        case busy
    }

    package let code: Code
    /// The failure and its remedy, without secrets.
    package let description: String

    init(_ code: Code, _ description: String) {
        self.code = code
        self.description = description
    }

    static func system(_ action: String, _ path: String, _ number: CInt = errno) -> EmbeddedPostgresError {
        let reason = String(cString: strerror(number))
        let advice =
            number == EACCES || number == EPERM
            ? "Run as the directory's owner or as root, or choose another directory."
            : "Fix the cause, or choose another directory."
        return EmbeddedPostgresError(.directoryUnusable, "Cannot \(action) \(path): \(reason). \(advice)")
    }
}
