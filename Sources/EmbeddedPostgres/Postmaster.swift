import Foundation

/// A running server, as described by `postmaster.pid`.
struct Postmaster: Sendable {
    let pid: pid_t
    let socketDirectory: String
    /// False while the server starts, recovers or stops.
    let isReady: Bool

    /// Nil if no server runs on the data directory.
    ///
    /// The file outlives a crash, and another process may then have its pid. A server's working directory is its data
    /// directory, which identifies it.
    init?(of place: DatabaseDirectory) {
        guard let text = try? String(contentsOfFile: "\(place.data)/postmaster.pid", encoding: .utf8) else {
            return nil
        }
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        guard lines.count > 1, let pid = pid_t(lines[0]), Self.runs(pid, in: place) else { return nil }
        self.pid = pid
        // The server adds each line when it knows the value (postmaster/miscadmin.h, LOCK_FILE_LINE_PM_STATUS).
        socketDirectory = lines.count > 4 ? String(lines[4]) : ""
        isReady = lines.count > 7 && lines[7].hasPrefix("ready")
    }

    static func runs(_ pid: pid_t, in place: DatabaseDirectory) -> Bool {
        if let directory = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(pid)/cwd") {
            return directory == URL(fileURLWithPath: place.data).resolvingSymlinksInPath().path
        }
        // Without CAP_SYS_PTRACE, for example in a container, root can read another user's command line but not its
        // working directory.
        let arguments = try? String(contentsOfFile: "/proc/\(pid)/cmdline", encoding: .utf8)
        return arguments?.contains("\0-D\0\(place.data)\0") == true
    }

    /// Removes the file of a killed server that was not reaped, because Postgres would consider it alive.
    static func removeFileOfZombie(in place: DatabaseDirectory) {
        let file = "\(place.data)/postmaster.pid"
        guard let text = try? String(contentsOfFile: file, encoding: .utf8),
            let pid = text.split(separator: "\n").first.flatMap({ pid_t($0) }),
            let status = try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8),
            let end = status.lastIndex(of: ")"), status[end...].hasPrefix(") Z")
        else { return }
        unlink(file)
    }
}
