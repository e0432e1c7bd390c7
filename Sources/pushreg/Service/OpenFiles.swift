import Foundation

/// How many files this process may have open; each connection is one.
enum OpenFiles {
    /// For the connections to Postgres, what the program itself has open, and what it opens meanwhile.
    private static let reserve = 500

    /// Raises the limit as far as the system lets it, and tells how many connections that leaves room for.
    static func makeRoom(for connections: Int) -> Int {
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
