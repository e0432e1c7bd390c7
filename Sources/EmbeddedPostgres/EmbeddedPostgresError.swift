import Foundation

/// Why a directory's private Postgres could not be opened; its description contains the remedy.
package struct EmbeddedPostgresError: Error, Sendable, CustomStringConvertible {
    package struct Code: Sendable, Hashable, CustomStringConvertible {
        package let description: String

        /// No Postgres of version 15 or later, or a tool to start it, is installed.
        package static let notInstalled = Code(description: "not-installed")
        /// The directory cannot be created, read or written, or has other contents.
        package static let directoryUnusable = Code(description: "directory-unusable")
        /// The directory was made by a major version of Postgres that is not installed.
        package static let otherVersion = Code(description: "other-version")
        /// Another program kept starting or stopping the server for too long.
        package static let busy = Code(description: "busy")
        package static let initialisationFailed = Code(description: "initialisation-failed")
        /// Postgres did not start, or did not become ready in time.
        package static let startFailed = Code(description: "start-failed")
    }

    package let code: Code
    /// The failure and its remedy; contains no secrets.
    package let description: String

    init(_ code: Code, _ description: String) {
        self.code = code
        self.description = description
    }

    static func system(_ action: String, _ path: String, _ number: CInt = errno) -> EmbeddedPostgresError {
        let reason = String(cString: strerror(number))
        let advice =
            number == EACCES || number == EPERM
            ? "Run as the user it belongs to or as root, or choose another directory."
            : "Put that right, or choose another directory."
        return EmbeddedPostgresError(.directoryUnusable, "Cannot \(action) \(path): \(reason). \(advice)")
    }
}
