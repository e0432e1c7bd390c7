import Foundation
import PostgresDriver
import RegistryCore

/// The facts that Postgres has about one (liveactivityId, owner), read under the lock of its row.
struct AliasIdentity {
    /// The activity that runs, or ran last.
    var activityID: ActivityID?
    /// An ended one, to which late requests are attributed.
    var closedActivityID: ActivityID?
    /// The greatest end: all that was observed no later than this belongs to an ended activity.
    var endedAt: Date?
    /// Postgres's clock after the lock was got.
    let receivedAt: Date
    let tokenDigest: [UInt8]
    /// The token in hand was registered here before.
    let isTokenKnown: Bool
    let activity: MergedActivity?
    let registrations: [(entry: AliasTimeline.Registration, registration: ActivityRegistration)]

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
        guard let identity = results[0].rows.first else {
            throw try Refusal(of: observedAt, results[4][0]).problem
        }
        (activityID, closedActivityID, endedAt) = try identity.decode(ActivityID?.self, ActivityID?.self, Date?.self)
        activity = try results[2].rows.first.map { try MergedActivity($0) }
        registrations = try results[3].rows.map(Self.registration)
        if let activity, let end = activity.answer.endedAt {
            // It may have been ended by its id: that ends all that was observed of it.
            let last = try results[2][0].column(14, as: Date?.self)
            endedAt = [endedAt, end, last].compactMap(\.self).max()
            closedActivityID = activity.activityID
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

    /// Whether an id looks like those that are made here.
    static func isServerMade(_ id: ActivityID) -> Bool {
        id.rawValue.string.wholeMatch(of: #/[0-9a-f]{12}-[0-9a-f]{16}/#) != nil
    }

    private static func padded(_ number: UInt64, _ width: Int) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }

    private static func registration(
        _ row: PostgresRow
    ) throws -> (entry: AliasTimeline.Registration, registration: ActivityRegistration) {
        let (observedAt, digest, id, token, facts, lifetime) =
            try row.decode(Date.self, [UInt8].self, ActivityID.self, [UInt8].self, JSONB.self, Duration?.self)
        let registration = try ActivityRegistration(token: token, observedAt: observedAt, facts: facts.bytes)
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
