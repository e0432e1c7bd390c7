import Foundation

/// How many files this process may have open; each connection is one.
enum OpenFiles {
    /// For what the program itself has open, of which each event loop has three and so each core, and for what it opens
    /// meanwhile: connections to issuers, look-ups of names, cancellations in Postgres.
    private static let ownFiles = 350

    /// Raises the limit as far as the system lets it, and tells how many connections that leaves room for.
    ///
    /// - Parameters:
    ///   - connections: of callers.
    ///   - others: the most connections that are open beside them: to Postgres, to the admin port, and those that are
    ///     being closed for others.
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
