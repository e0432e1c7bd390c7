import Foundation
import PostgresDriver
import RegistryCore

/// Reports of one app and environment; no token value occurs twice (``FeedbackRounds``).
struct FeedbackBatch {
    let reports: [FeedbackStatement]

    /// The SHA-256 of each report's token. The tokens themselves go no further.
    var digests: [[UInt8]] { reports.map { Array($0.digest) } }
    /// Some report is more than a delivery: activities may change.
    var accuses: Bool { kills || suspects }
    var kills: Bool { has(.dead) }
    /// The rows of the burst guard are needed.
    var suspects: Bool { has(.suspect) }
    var delivers: Bool { has(.delivered) }

    private func has(_ verdict: FeedbackVerdict) -> Bool { reports.contains { $0.report.verdict == verdict } }

    private static let columns: [BoundColumn<FeedbackStatement>] = [
        .init("token_digest") { Array($0.digest) },
        .init("verdict", \.report.verdict.rawValue),
        .init("reported_at", \.report.timestamp),
        .init("reason", \.report.reason),
    ]

    private var columns: [(name: String, array: SQL)] {
        Self.columns.map { ($0.name, "\(value: $0.bind(reports))") }
    }

    var deaths: SQL {
        let reports = SQL.unnest(Array(columns.prefix(2)), as: "u")
        return "(SELECT u.token_digest FROM \(sql: reports) WHERE u.verdict = 'dead') AS q"
    }

    func rows(at places: FeedbackPlaces) -> SQL {
        let found: [(name: String, array: SQL)] = [
            ("value_place", "\(digests.map { places.value(of: $0) })::text[]::tid[]"),
            ("activity_place", "\(digests.map { places.activity(of: $0) })::text[]::tid[]"),
        ]
        return SQL.unnest(columns + found, as: "q", position: "position")
    }
}
