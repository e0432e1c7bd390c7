import PostgresDriver
import RegistryCore

package struct AliasPage: Sendable, Hashable {
    package let activities: [ResolvedActivity]
    package let channels: [BroadcastChannel]
    /// More activities may follow this key; nil for the last page.
    package let next: Int64?

    package init(activities: [ResolvedActivity], channels: [BroadcastChannel], next: Int64?) {
        (self.activities, self.channels, self.next) = (activities, channels, next)
    }
}

struct AliasRows: Sendable {
    private(set) var activities: [ResolvedActivity] = []
    var channels: [BroadcastChannel] = []
    private(set) var last: Int64?
    /// Maximum activities of the page. One more row shows that another page follows.
    private let limit: Int
    private var count = 0
    /// Whether rows follow, as far as known.
    var isCut = false

    init(limit: Int) { self.limit = limit }

    /// Whether more rows must be read to fill the page, because many are withheld.
    var isShort: Bool { isCut && activities.count <= limit }

    mutating func add(_ row: AliasRow) {
        if let activity = row.activity { activities.append(activity) }
        last = max(last ?? row.key, row.key)
        count += 1
        isCut = count > limit
    }

    var page: AliasPage {
        let found = activities.count > 1 ? activities.sorted { $0.key < $1.key } : activities
        guard found.count > limit else {
            return AliasPage(activities: found, channels: channels, next: isCut ? last : nil)
        }
        let first = Array(found.prefix(limit))
        return AliasPage(activities: first, channels: channels, next: first.last?.key ?? last)
    }
}

/// A row of an alias; the activity is nil if its token is withheld.
struct AliasRow: DecodableRow {
    let key: Int64
    let activity: ResolvedActivity?

    init(row: NamedRow) throws {
        key = try row["row_key"]
        activity = try row["activity_key"] as Int64? == nil ? nil : ResolvedActivity(row: row)
    }
}

extension ResolvedActivity: DecodableRow {
    package init(row: NamedRow) throws {
        self.init(
            key: try row["activity_key"],
            activityID: try row["activity_id"],
            token: try row["token"],
            installation: try row["installation_hash"],
            facts: try ActivityFacts(forSenders: row),
            startedAt: try row["started_at"],
            startsAt: try row["starts_at"],
            observedAt: try row["token_observed_at"],
            confirmedAt: try row["confirmed_at"],
            expiresAt: try row["expires_at"],
            revision: try row["revision"]
        )
    }
}
