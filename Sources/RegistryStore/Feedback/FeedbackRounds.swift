import Crypto
import Foundation
import RegistryCore

/// A report's statement about a token: equal ones are one.
struct FeedbackStatement: Hashable {
    let report: FeedbackReport
    let digest: SHA256Digest

    init(_ report: FeedbackReport) {
        self.report = report
        digest = report.token.digest
    }

    static func == (left: Self, right: Self) -> Bool {
        left.digest == right.digest && left.report.verdict == right.report.verdict
            && left.report.accusation == right.report.accusation
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(digest)
        hasher.combine(report.verdict)
        hasher.combine(report.accusation)
    }
}

/// Reports in rounds with each token once; reports of one token keep their order.
struct FeedbackRounds {
    /// One for each report, in the order given.
    let statements: [FeedbackStatement]
    /// Distinct statements; those of a token beyond the limit are left out.
    let rounds: [[FeedbackStatement]]

    init(_ reports: [FeedbackReport], most: Int) {
        statements = reports.map(FeedbackStatement.init)
        var rounds: [[FeedbackStatement]] = []
        var known: Set<FeedbackStatement> = []
        var counts: [SHA256Digest: Int] = [:]
        for statement in statements where known.insert(statement).inserted {
            let round = counts[statement.digest, default: 0]
            guard round < most else { continue }
            counts[statement.digest] = round + 1
            if round == rounds.count { rounds.append([]) }
            rounds[round].append(statement)
        }
        self.rounds = rounds
    }
}

extension FeedbackReport {
    /// Accusations differ by time and reason; other statements do not.
    fileprivate var accusation: Accusation? {
        [.dead, .suspect].contains(verdict) ? Accusation(timestamp: timestamp, reason: reason) : nil
    }

    fileprivate struct Accusation: Hashable {
        let timestamp: Date?
        let reason: UTF8Text?
    }
}

extension Problem {
    static var tooManyReports: Problem {
        let most = Registry.mostReportsOfToken
        return Problem(
            .invalidRequest,
            "The batch says \(most) other things of this token before; send this report again in another batch."
        )
    }
}
