import Foundation

/// Why a directory's private Postgres could not be opened; its description is a sentence that says what to do.
package struct EmbeddedPostgresError: Error, Sendable, CustomStringConvertible {
    /// The kind of failure.
    package struct Code: Sendable, Hashable, CustomStringConvertible {
        /// The name of the code, in kebab-case.
        package let description: String

        /// No Postgres of version 15 or later is installed, or a tool that starting it needs.
        package static let notInstalled = Code(description: "not-installed")
        /// The directory cannot be made, read or written, or holds something else.
        package static let directoryUnusable = Code(description: "directory-unusable")
        /// The directory was made by a major version of Postgres that is not installed.
        package static let otherVersion = Code(description: "other-version")
        /// Another program kept starting or stopping the server for too long.
        package static let busy = Code(description: "busy")
        /// The new database could not be initialised.
        package static let initialisationFailed = Code(description: "initialisation-failed")
        /// Postgres did not start, or did not become ready in time.
        package static let startFailed = Code(description: "start-failed")
    }

    /// The kind of failure.
    package let code: Code
    /// The failure and what to do about it, in sentences; it holds no secrets.
    package let description: String

    init(_ code: Code, _ description: String) {
        self.code = code
        self.description = description
    }

    /// A failed system call on a file or directory of the database.
    static func system(_ action: String, _ path: String, _ number: CInt = errno) -> EmbeddedPostgresError {
        let reason = String(cString: strerror(number))
        let advice =
            number == EACCES || number == EPERM
            ? "Run as the user it belongs to or as root, or choose another directory."
            : "Put that right, or choose another directory."
        return EmbeddedPostgresError(.directoryUnusable, "Cannot \(action) \(path): \(reason). \(advice)")
    }
}
