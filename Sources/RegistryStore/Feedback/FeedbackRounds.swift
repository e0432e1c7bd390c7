import Crypto
import Foundation
import RegistryCore

/// A statement about a token, as a report makes it: equal ones are one.
struct FeedbackStatement: Hashable {
    /// The first report that said it.
    let report: FeedbackReport
    /// The SHA-256 of its token.
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

/// Reports put in rounds in which each token comes once, those of one token in the order given.
struct FeedbackRounds {
    /// One for each report, in the order given.
    let statements: [FeedbackStatement]
    /// Different statements; those of a token beyond the most are left out.
    let rounds: [[FeedbackStatement]]

    /// - Parameter most: how many rounds there may be.
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
    /// Its time and reason where they count: only accusations are told apart by them.
    fileprivate var accusation: Accusation? {
        [.dead, .suspect].contains(verdict) ? Accusation(timestamp: timestamp, reason: reason) : nil
    }

    fileprivate struct Accusation: Hashable {
        let timestamp: Date?
        let reason: UTF8Text?
    }
}

extension Problem {
    /// A report beyond the most of its token.
    static var tooManyReports: Problem {
        let most = Registry.mostReportsOfToken
        return Problem(
            .invalidRequest,
            "The batch says \(most) other things of this token before; send this report again in another batch."
        )
    }
}
