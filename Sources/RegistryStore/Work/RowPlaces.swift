import PostgresDriver
import RegistryCore

/// Parts of statements that delete rows by their places (`ctid`), which they looked up one by one before.
///
/// Rows that were locked stay where they are. A plan that was made while there were few rows would rather look through all
/// of the app than ask a key for each.
enum RowPlaces {
    /// The row called `row` is of the app, said so that no index can be asked for it, but that a distributed Postgres sees
    /// which of its shards has the app's rows: indexes are of `bigint`, and compare it with no `numeric`. A comparison that
    /// stands in another expression (`IS TRUE`) says nothing to either.
    static func isOf(_ app: Int64, _ row: String) -> SQL { "\(unescaped: row).app_number = \(app)::numeric" }

    /// The row called `row` stands on one of some pages of its table.
    static func areOn(_ pages: Range<Int>, _ row: String) -> SQL {
        """
        \(unescaped: row).ctid >= \("(\(pages.lowerBound),0)")::text::tid
        AND \(unescaped: row).ctid < \("(\(pages.upperBound),0)")::text::tid
        """
    }

    /// A column of each of the rows, called `its`, of some installations.
    static func rows(of hashes: [[UInt8]], in table: String, _ column: String, _ scope: Scope) -> SQL {
        """
        SELECT found.it FROM unnest(\(hashes)) AS named (hash) CROSS JOIN LATERAL (
            SELECT \(unescaped: column) AS it FROM \(unescaped: table) its
            WHERE \(sql: scope.contains("its"))
                AND its.installation_hash = named.hash OFFSET 0
        ) AS found
        """
    }
}
