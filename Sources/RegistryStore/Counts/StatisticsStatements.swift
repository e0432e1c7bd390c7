import Foundation
import PostgresDriver
import RegistryCore

/// The statements that count an app's events over time.
struct StatisticsStatements {
    let scope: Scope

    /// The approximate limit of rows of `events` in a sample.
    static let sampleSize = 100_000

    private static let common = AuditEventStatements.commonTypes.sorted()

    /// A sample's events of the types that most requests write, or of all others, by step and type.
    func sampledEvents(areCommon: Bool, since start: Date, step: Duration, percent: Double) -> SQL {
        let matches = areCommon ? "= ANY" : "<> ALL"
        return """
            SELECT \(sql: Self.step(step)), e.type, count(*)
            FROM \(sql: TableSample.pages("events AS e", percent))
            WHERE \(sql: scope.contains("e")) AND e.recorded_at >= \(start)
                AND e.type \(unescaped: matches)(\(Self.common))
            GROUP BY 1, 2
            """
    }

    /// The limit of rare events that are counted one by one.
    static let mostRareEvents = 200_000

    /// Events of all but the common types, found by an index of their own. Above ``mostRareEvents`` the latest are missing.
    func rareEvents(since start: Date, step: Duration) -> SQL {
        let types = Self.common.map { "'\($0)'" }.joined(separator: ", ")
        return """
            SELECT \(sql: Self.step(step)), e.type, count(*) FROM (
                SELECT e.type, e.recorded_at FROM events e
                WHERE \(sql: scope.contains("e")) AND e.type NOT IN (\(unescaped: types)) AND e.recorded_at >= \(start)
                LIMIT \(Self.mostRareEvents)
            ) AS e
            GROUP BY 1, 2
            """
    }

    private static func step(_ step: Duration) -> SQL {
        "date_bin(\(step), e.recorded_at, '2020-01-01'::timestamptz)"
    }
}
