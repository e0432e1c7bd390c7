import Foundation
import PostgresDriver

/// A sample of a table's pages. Counting a large table then takes no longer than counting a small one.
struct TableSample {
    private let size: Int
    /// 100 up to the sample's size, otherwise 50, 25, 12.5 and so on. The steps keep the sampled pages stable for a
    /// while.
    let percent: Double

    /// - Parameters:
    ///   - size: the approximate limit of rows.
    ///   - scope: if the table is distributed, only this scope's shard counts.
    init(_ table: String, size: Int, of scope: Scope, _ session: borrowing PostgresSession) throws {
        let rows = try TableSizes.rows(of: table, holding: scope.id, session)
        self.size = size
        percent = 100 / exp2(max(0, log2(rows / Double(size)).rounded(.up)))
    }

    /// Groups of rows with their counts, extrapolated to the whole table, and whether the counts are estimates.
    ///
    /// - Parameter query: must read only the part `:percent` of the table.
    func count<Group>(
        _ query: Query,
        _ values: QueryValues,
        _ session: borrowing PostgresSession,
        _ group: (NamedRow) throws -> Group
    ) throws -> (groups: [(Group, count: Int)], isEstimated: Bool) {
        func run(_ percent: Double) throws -> [(Group, count: Int)] {
            try session.run(query, values + ["percent": percent]).decode { (try group($0), try $0["count"]) }
        }
        let groups = try run(percent)
        guard percent < 100 else { return (groups, false) }
        let scale = 100 / percent
        // A sample is inaccurate for an app with few rows, and its index finds them fast.
        guard Double(groups.map(\.count).reduce(0, +)) * scale > Double(size) else { return (try run(100), false) }
        return (groups.map { ($0.0, Int((Double($0.count) * scale).rounded())) }, true)
    }
}
