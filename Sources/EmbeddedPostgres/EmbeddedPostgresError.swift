import Foundation

package struct EmbeddedPostgresError: Error, Sendable, CustomStringConvertible {
    package struct Code: Sendable, Hashable, CustomStringConvertible {
        package let description: String

        package static let notInstalled = Code(description: "not-installed")
        package static let directoryUnusable = Code(description: "directory-unusable")
        package static let otherVersion = Code(description: "other-version")
        /// Another program held a lock for too long.
        package static let busy = Code(description: "busy")
        package static let initialisationFailed = Code(description: "initialisation-failed")
        package static let startFailed = Code(description: "start-failed")
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
