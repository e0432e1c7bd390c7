/// A query's plan and the work of Postgres for it, as `EXPLAIN` writes them.
struct QueryPlan {
    let text: String

    /// The tables with sequential scans, except tables that are always small.
    var wholeReads: [String] {
        let small = ["apps", "api_keys", "deleted_apps", "events_event_number_seq", "quarantine_guards", "scopes"]
        return text.matches(of: /Seq Scan on (\w+)/).map { String($0.1) }.filter { !small.contains($0) }
    }

    /// The most rows that one step read and discarded. A full index scan shows here.
    var mostRemoved: Int { text.matches(of: /Rows Removed by [A-Za-z ]+: (\d+)/).compactMap { Int($0.1) }.max() ?? 0 }

    var pages: Int {
        let counts = text.split(separator: "\n").first { $0.contains("Buffers:") } ?? ""
        return counts.matches(of: /(?:shared|local) hit=(\d+)|read=(\d+)/)
            .compactMap { Int($0.1 ?? $0.2 ?? "") }.reduce(0, +)
    }

    /// Whether it reads more than a query about a few rows needs. Any large table or index as a whole exceeds this.
    var isLong: Bool { pages > 400 || mostRemoved > 100 }
}
