import Foundation
import PostgresDriver
import RegistryCore

package enum PlanPosition: Sendable, Hashable {
    /// After the activity with this key; 0 before the first page.
    case activity(Int64)
    /// After the installation with this hash, and the key of the last activity of earlier pages.
    case installation([UInt8], afterActivity: Int64)
    package static let start = PlanPosition.activity(0)
}

package struct PlanPage: Sendable, Hashable {
    /// The running activities, and then the installations without one.
    package internal(set) var entries: [PlanEntry]
    /// The alias's channel; at most one.
    package let channels: [BroadcastChannel]
    /// Nil for the last page.
    package internal(set) var next: PlanPosition?
}

extension Registry {
    /// The pushes for each phone, with the leases of those on which the caller is to start the activity.
    ///
    /// A phone of which an activity with the alias runs has an entry for each. The leases are committed when this returns.
    package func plan(
        _ request: PlanRequest,
        after position: PlanPosition = .start,
        in scope: Scope,
        by who: UTF8Text
    ) async throws -> PlanPage {
        let found = try await find(request, after: position, in: scope)
        var page = PlanPage(entries: try found.rows.map { try $0.entry(of: request.alias) }, channels: found.channels)
        let hashes = Array(found.installations.prefix(request.limit - found.rows.count))
        page.next = found.position(after: hashes, limit: request.limit)
        page.entries += try await judge(hashes, request, after: found.lastActivity, in: scope, by: who)
        return page
    }

    /// Gives a lease back because nothing was sent. A lease that is not live stays as it is.
    package func release(_ lease: LeaseID, in scope: Scope, by who: UTF8Text) async throws {
        let statements = LeaseStatements(scope: scope, who: who).release(lease)
        _ = try await write { try $0.pipeline(statements).count }
    }

    private func find(_ request: PlanRequest, after position: PlanPosition, in scope: Scope) async throws -> FoundPlan {
        let statements = PlanStatements(request: request, scope: scope, who: "")
        let limit = request.limit + 1
        let channels = ResolveStatements.channels(of: [request.alias], in: scope)
        return try await read { session in
            var found = FoundPlan(lastActivity: position.activity)
            let installations = statements.installations(after: position.installation, limit: limit)
            let activities = [
                statements.activities(after: position.activity, limit: limit),
                ResolveStatements.key(
                    of: request.alias,
                    after: position.activity,
                    count: PlanStatements.mostBearers,
                    in: scope
                ),
            ]
            let results = try session.pipeline(
                [channels, installations] + (position.isAmongActivities ? activities : [])
            )
            found.channels = try results[0].byPosition(of: 1, BroadcastChannel.positioned)[0]
            found.installations = try results[1].decode([UInt8].self)
            if position.isAmongActivities {
                let last = try results[3].decode(Int64.self).first
                found.add(try results[2].decode(PlanRow.columns), limit: request.limit, lookedThrough: last)
            }
            return found
        }
    }

    /// Bounds the rulings on the same installations: each repetition means that another planner was faster, and gave
    /// its lease back.
    private static let mostRounds = 20

    private static let isContended = Problem(
        .unavailable,
        "Other planners take and give back the same leases all the time. Send the same request again."
    )

    private func judge(
        _ hashes: [[UInt8]],
        _ request: PlanRequest,
        after key: Int64,
        in scope: Scope,
        by who: UTF8Text
    ) async throws -> [PlanEntry] {
        var (open, rows, rounds) = (hashes, [[UInt8]: PlanRow](), 0)
        while !open.isEmpty {
            rounds += 1
            guard rounds <= Self.mostRounds else { throw Self.isContended }
            let statements = PlanStatements(request: request, scope: scope, who: who)
            let (installations, event) = (open, statements.event(open))
            let judged = try await write { session in
                let taking =
                    session.isDistributed
                    ? statements.takeOnCitus(installations, after: key)
                    : [statements.take(installations, after: key)]
                return try session.pipeline(taking + [event])[taking.count - 1].decode(PlanRow.columns)
            }
            for row in judged { row.installation.map { rows[$0.bytes] = row } }
            // The other planner's lease is committed, so the next look sees it.
            open = judged.filter(\.isUndecided).compactMap(\.installation?.bytes)
        }
        return try hashes.compactMap { try rows[$0]?.entry(of: request.alias) }
    }
}

extension PlanPosition {
    fileprivate var isAmongActivities: Bool {
        if case .activity = self { true } else { false }
    }

    fileprivate var activity: Int64 {
        switch self {
        case .activity(let key), .installation(_, let key): key
        }
    }

    fileprivate var installation: [UInt8] {
        if case .installation(let hash, _) = self { hash } else { [] }
    }
}

private struct FoundPlan: Sendable {
    var rows: [PlanRow] = []
    var channels: [BroadcastChannel] = []
    /// Up to one more than a page has room for; empty while there are more activities.
    var installations: [[UInt8]] = []
    var lastActivity: Int64
    private var hasMoreActivities = false

    init(lastActivity: Int64) { self.lastActivity = lastActivity }

    /// - Parameter last: the key of the last examined activity; nil if all were.
    mutating func add(_ activities: [PlanRow], limit: Int, lookedThrough last: Int64?) {
        rows = Array(activities.prefix(limit))
        hasMoreActivities = activities.count > limit || last != nil
        lastActivity = (activities.count > limit ? nil : last) ?? rows.last?.activity?.key ?? lastActivity
        if hasMoreActivities { installations = [] }
    }

    /// The position of the page after this one, which has some of the installations.
    func position(after judged: [[UInt8]], limit: Int) -> PlanPosition? {
        if hasMoreActivities { return .activity(lastActivity) }
        guard installations.count > judged.count else { return nil }
        // A page without room for installations has some activity.
        return judged.last.map { .installation($0, afterActivity: lastActivity) }
            ?? .installation([], afterActivity: lastActivity)
    }
}
