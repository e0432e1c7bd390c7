import Foundation
import PostgresDriver
import RegistryCore

/// The facts in Postgres about one (liveactivityId, owner), read under the lock of its row.
struct AliasIdentity {
    struct Row {
        /// The activity that runs, or ran last.
        let activityID: ActivityID?
        /// An ended one, to which late requests are attributed.
        var closedActivityID: ActivityID?
        /// The greatest end: all that was observed no later than this belongs to an ended activity.
        var endedAt: Date?

        static let columns = Columns(
            .one("stored.activity_id"),
            .one("stored.closed_activity_id"),
            .one("stored.ended_at"),
            as: Row.init
        )
    }

    private var row: Row
    /// Postgres's clock after the lock was got.
    let receivedAt: Date
    let tokenDigest: [UInt8]
    let isTokenKnown: Bool
    let activity: MergedActivity?
    let registrations: [Registered]

    typealias Registered = (entry: AliasTimeline.Registration, registration: ActivityRegistration)

    var activityID: ActivityID? { row.activityID }
    var closedActivityID: ActivityID? { row.closedActivityID }
    var endedAt: Date? { row.endedAt }

    /// The activity's row `stored`, its installation's row `its`, and its last observation.
    static let activityColumns = Columns(
        MergedActivity.columns(removedAt: "its.removed_at", fullStateAt: "its.full_state_at"),
        .one("stored.last_observed_at")
    ) {
        (activity: MergedActivity, lastObservedAt: Date?) in (activity: activity, lastObservedAt: lastObservedAt)
    }

    /// A registration `r` that is remembered, and the row `own` of its activity.
    static let registrationColumns = Columns(
        .one("r.observed_at"),
        .one("r.token_digest"),
        .one("r.activity_id"),
        .one("r.token"),
        .one("r.facts"),
        .one("own.lifetime"),
        as: registered
    )

    /// Locks and reads it in one round trip.
    ///
    /// - Throws: `clockSkew`, `unknownApp`.
    init(
        _ statements: AliasIdentityStatements,
        token: PushToken?,
        observedAt: Date?,
        startsAt: Date? = nil,
        _ transaction: borrowing PostgresTransaction
    ) throws {
        let results = try transaction.pipeline([
            statements.lock(observedAt: observedAt, startsAt: startsAt), statements.clock(token: token),
            statements.activity, statements.openRegistrations, statements.refusalFacts(observedAt: observedAt),
        ])
        (receivedAt, tokenDigest, isTokenKnown) = try results[1][0].decode(Date.self, [UInt8].self, Bool.self)
        guard let row = try results[0].decode(Row.columns).first else {
            throw try Refusal(of: observedAt, results[4][0]).problem
        }
        self.row = row
        registrations = try results[3].decode(Self.registrationColumns)
        let latest = try results[2].decode(Self.activityColumns).first
        activity = latest?.activity
        if let activity, let end = activity.answer.endedAt {
            // It may have been ended by its id: that ends all that was observed of it.
            self.row.endedAt = [row.endedAt, end, latest?.lastObservedAt].compactMap(\.self).max()
            self.row.closedActivityID = activity.activityID
        }
    }

    var isRunning: Bool { activity.map { $0.answer.state == .active || $0.answer.state == .dismissed } ?? false }

    /// An id for a new activity, greater than those before it: of two activities that claim a token at one moment
    /// the later one gets it.
    func newActivityID() -> ActivityID {
        let last = [activityID, closedActivityID].compactMap(\.self).max()?.rawValue.string ?? ""
        let now = UInt64(receivedAt.timeIntervalSince1970 * 1000)
        let time = max(now, (UInt64(last.prefix(12), radix: 16) ?? 0) + 1)
        let random = UInt64.random(in: .min ... .max)
        return ActivityID(stored: "\(Self.padded(time, 12))-\(Self.padded(random, 16))")
    }

    static func isServerMade(_ id: ActivityID) -> Bool {
        id.rawValue.string.wholeMatch(of: #/[0-9a-f]{12}-[0-9a-f]{16}/#) != nil
    }

    private static func padded(_ number: UInt64, _ width: Int) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }

    @Sendable private static func registered(
        observedAt: Date,
        digest: [UInt8],
        id: ActivityID,
        token: PushToken,
        facts: JSONB,
        lifetime: Duration?
    ) throws -> Registered {
        let registration = try ActivityRegistration(token: token, observedAt: observedAt, remembered: facts)
        let entry = AliasTimeline.Registration(
            observedAt: observedAt,
            tokenDigest: digest,
            startedAt: registration.startedAt ?? observedAt,
            startsAt: registration.startsAt,
            lifetime: lifetime,
            activityID: id
        )
        return (entry, registration)
    }
}
