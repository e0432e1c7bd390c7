import Foundation

/// The process's limit of open files. Each connection uses one file.
enum OpenFiles {
    /// Room for the program's own files (three per event loop, thus per core) and for temporary connections: to
    /// issuers, name servers, and Postgres for cancellations.
    private static let ownFiles = 350

    /// Raises the limit as far as the system allows. Returns the number of connections that fit.
    ///
    /// - Parameters:
    ///   - connections: The desired connections of callers.
    ///   - others: The maximum of other connections: to Postgres, to the admin port, and evicted ones that are closing.
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
