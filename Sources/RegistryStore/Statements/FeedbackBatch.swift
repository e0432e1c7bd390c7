import Foundation
import PostgresDriver
import RegistryCore

/// Reports of one app and environment, column by column; no token value occurs twice.
struct FeedbackBatch {
    private var tokens: [[UInt8]] = []
    private var verdicts: [String] = []
    private var timestamps: [Date?] = []
    private var reasons: [String?] = []
    private var tokenSet: Set<PushToken> = []

    /// Some report says more than that a push was delivered: activities may change.
    private(set) var accuses = false
    /// Some report says that a token is dead.
    private(set) var kills = false
    /// Some report may quarantine: the burst guard's rows are needed.
    private(set) var suspects = false
    /// Some report says that a push was delivered.
    private(set) var delivers = false

    /// Adds a report unless its value has been offered already; then it must wait for a later batch.
    mutating func add(_ report: FeedbackReport) -> Bool {
        guard tokenSet.insert(report.token).inserted else { return false }
        let verdict = report.verdict
        accuses = accuses || verdict == .dead || verdict == .suspect
        kills = kills || verdict == .dead
        suspects = suspects || verdict == .suspect
        delivers = delivers || verdict == .delivered
        tokens.append(report.token.bytes)
        verdicts.append(verdict.rawValue)
        timestamps.append(report.timestamp)
        reasons.append(report.reason)
        return true
    }

    /// The reports as rows, with the token's digest, which `OFFSET 0` keeps from being computed wherever it is used.
    var rows: SQL {
        """
        (SELECT sha256(u.token) AS token_digest, u.verdict, u.reported_at, u.reason, u.position
        FROM unnest(\(tokens), \(verdicts), \(timestamps), \(reasons)) WITH ORDINALITY
            AS u (token, verdict, reported_at, reason, position) OFFSET 0) AS q
        """
    }

    /// The digests alone.
    var digests: SQL { "SELECT sha256(u.token) FROM unnest(\(tokens)) AS u (token)" }
}
