import RegistryCore

/// A sentence for the user and an exit code for programs.
struct CommandFailure: Error, Sendable, CustomStringConvertible {
    /// From `sysexits.h`. The argument parser exits with 64, too.
    enum Status: Int32, Sendable {
        case failed = 1
        case usage = 64
        case unavailable = 69
        case notPermitted = 77
    }

    let status: Status
    /// Contains no password and no token.
    let sentence: String

    init(_ status: Status, _ sentence: String) {
        self.status = status
        self.sentence = sentence
    }

    var description: String { sentence }
}

extension CommandFailure {
    static func noApp(_ bundleID: BundleID) -> CommandFailure {
        CommandFailure(.failed, "The app \(bundleID) does not exist.")
    }

    init(_ problem: Problem) {
        self.init(Self.status(of: problem.code), problem.detail + problem.errorSentences)
    }

    private static func status(of code: Problem.Code) -> Status {
        switch code.status {
        case 401, 403: .notPermitted
        case 400, 422: .usage
        case 429, 503: .unavailable
        default: .failed
        }
    }
}

extension Problem {
    /// A sentence per error, each after a space.
    var errorSentences: String {
        errors.map { fault in
            let subject = fault.pointer.isEmpty ? "It" : String(fault.pointer.dropFirst())
            return " \(subject) \(fault.detail)."
        }.joined()
    }
}
