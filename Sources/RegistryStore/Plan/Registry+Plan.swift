import Foundation
import PostgresDriver
import RegistryCore

/// Where a page of a plan ended.
package enum PlanPosition: Sendable, Hashable {
    /// Behind the activity with this number; 0 before the first page.
    case activity(Int64)
    /// Behind the installation with this hash, and the number of the last activity that pages before had.
    case installation([UInt8], afterActivity: Int64)

    /// Before the first page.
    package static let start = PlanPosition.activity(0)
}

/// A page of a plan.
package struct PlanPage: Sendable, Hashable {
    /// The activities that run, and then the installations on which none does.
    package internal(set) var entries: [PlanEntry]
    /// The alias's channel; at most one.
    package let channels: [BroadcastChannel]
    /// Where the next page begins; nil when this is the last one.
    package internal(set) var next: PlanPosition?
}

extension Registry {
    /// A page of what to push to each phone, with the leases of those on which the caller is to start the activity.
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

    /// Gives a lease back: nothing was sent. One that is not live any more is not touched.
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
                ResolveStatements.number(
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

    /// How often the same installations are judged: each time another planner must have been quicker, and given its lease back.
    private static let mostRounds = 20

    private static let isContended = Problem(
        .unavailable,
        "Other planners take and give back the same leases all the time. Send the same request again."
    )

    /// The entries of installations, in their order.
    private func judge(
        _ hashes: [[UInt8]],
        _ request: PlanRequest,
        after number: Int64,
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
                    ? statements.takeOnCitus(installations, after: number)
                    : [statements.take(installations, after: number)]
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
        case .activity(let number), .installation(_, let number): number
        }
    }

    fileprivate var installation: [UInt8] {
        if case .installation(let hash, _) = self { hash } else { [] }
    }
}

/// The parts of a page before any installation is judged.
private struct FoundPlan: Sendable {
    var rows: [PlanRow] = []
    var channels: [BroadcastChannel] = []
    /// One more than a page has room for, if there are as many; none while there are more activities.
    var installations: [[UInt8]] = []
    var lastActivity: Int64
    private var hasMoreActivities = false

    init(lastActivity: Int64) { self.lastActivity = lastActivity }

    /// - Parameter last: the number of the last that was looked at; nil when all were.
    mutating func add(_ activities: [PlanRow], limit: Int, lookedThrough last: Int64?) {
        rows = Array(activities.prefix(limit))
        hasMoreActivities = activities.count > limit || last != nil
        lastActivity = (activities.count > limit ? nil : last) ?? rows.last?.activity?.number ?? lastActivity
        if hasMoreActivities { installations = [] }
    }

    /// Where the page after this one begins, which has some of the installations.
    func position(after judged: [[UInt8]], limit: Int) -> PlanPosition? {
        if hasMoreActivities { return .activity(lastActivity) }
        guard installations.count > judged.count else { return nil }
        // A page that has no room for any installation has some activity.
        return judged.last.map { .installation($0, afterActivity: lastActivity) }
            ?? .installation([], afterActivity: lastActivity)
    }
}
