import PostgresDriver
import RegistryCore

/// Parts of statements that delete rows by their places (`ctid`), after a lookup of each.
///
/// Locked rows keep their places. A plan from a time with few rows would read all of the scope's rows instead of looking
/// up each key.
enum RowPlaces {
    /// Written so that no index can be used, but a distributed Postgres sees which of its shards has the scope's rows:
    /// indexes are of `bigint`, and do not compare with `numeric`. A comparison inside another expression (`IS TRUE`)
    /// shows it to neither.
    static func isOf(_ scope: Scope, _ row: String) -> SQL { "\(unescaped: row).scope_id = \(scope.id)::numeric" }

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
