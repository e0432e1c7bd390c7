import Foundation

/// The limit of open files of this process; each connection is one.
enum OpenFiles {
    /// For the program's own files (each event loop, and so each core, has three) and temporary ones: connections to
    /// issuers, lookups of names, cancellations in Postgres.
    private static let ownFiles = 350

    /// Raises the limit as far as the system allows, and returns the number of connections that fit.
    ///
    /// - Parameters:
    ///   - connections: of callers.
    ///   - others: the most other open connections: to Postgres, to the admin port, and those being closed for others.
    static func makeRoom(for connections: Int, beside others: Int) -> Int {
        let reserve = others + ownFiles
        var limit = rlimit()
        guard getrlimit(Int32(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return connections }
        let wanted = rlim_t(connections + reserve)
        if limit.rlim_cur < wanted {
            var raised = rlimit(rlim_cur: min(wanted, limit.rlim_max), rlim_max: limit.rlim_max)
            if setrlimit(Int32(RLIMIT_NOFILE.rawValue), &raised) == 0 { limit = raised }
        }
        let room = Int(min(limit.rlim_cur, wanted))
        return max(room - reserve, room / 2)
    }
}
