import Foundation
import PostgresDriver
import RegistryCore

/// Reports of one app and environment, column by column; no token value occurs twice.
struct FeedbackBatch {
    /// The SHA-256 of each report's token. The tokens themselves go no further.
    private(set) var digests: [[UInt8]] = []
    private var verdicts: [String] = []
    private var timestamps: [Date?] = []
    private var reasons: [UTF8Text?] = []

    /// Some report says more than that a push was delivered: activities may change.
    private(set) var accuses = false
    /// Some report says that a token is dead.
    private(set) var kills = false
    /// Some report may quarantine: the burst guard's rows are needed.
    private(set) var suspects = false
    /// Some report says that a push was delivered.
    private(set) var delivers = false

    /// Adds a report of a token that no other is of (``FeedbackRounds``).
    ///
    /// - Parameter digest: the SHA-256 of its token.
    mutating func add(_ report: FeedbackReport, digest: [UInt8]) {
        let verdict = report.verdict
        accuses = accuses || verdict == .dead || verdict == .suspect
        kills = kills || verdict == .dead
        suspects = suspects || verdict == .suspect
        delivers = delivers || verdict == .delivered
        digests.append(digest)
        verdicts.append(verdict.rawValue)
        timestamps.append(report.timestamp)
        reasons.append(report.reason)
    }

    /// The reports that say a token is dead, as rows of its digest.
    var deaths: SQL {
        """
        (SELECT u.token_digest FROM unnest(\(digests), \(verdicts)) AS u (token_digest, verdict)
        WHERE u.verdict = 'dead') AS q
        """
    }

    /// The reports as rows, with the places of the rows that they are about.
    func rows(at places: FeedbackPlaces) -> SQL {
        """
        unnest(\(digests), \(verdicts), \(timestamps), \(reasons), \(digests.map { places.value(of: $0) })::text[]::tid[],
            \(digests.map { places.activity(of: $0) })::text[]::tid[]) WITH ORDINALITY
            AS q (token_digest, verdict, reported_at, reason, value_place, activity_place, position)
        """
    }
}
