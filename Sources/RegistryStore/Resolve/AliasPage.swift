import RegistryCore

package struct AliasPage: Sendable, Hashable {
    /// The activities with a token that may be handed out, in the order of their keys.
    package let activities: [ResolvedActivity]
    /// The alias's channel; at most one.
    package let channels: [BroadcastChannel]
    /// More activities may follow this key; nil for the last page.
    package let next: Int64?

    package init(activities: [ResolvedActivity], channels: [BroadcastChannel], next: Int64?) {
        (self.activities, self.channels, self.next) = (activities, channels, next)
    }
}

/// The rows of an alias that were read for a page, and its channel.
struct AliasRows: Sendable {
    private(set) var activities: [ResolvedActivity] = []
    var channels: [BroadcastChannel] = []
    private(set) var last: Int64?
    /// The most activities of the page. One row more shows that there is another page.
    private let limit: Int
    private var count = 0
    private var isCut: Bool

    init(limit: Int) { (self.limit, isCut) = (limit, false) }

    /// So many of the rows are withheld that more have to be read to fill the page.
    var isShort: Bool { isCut && activities.count <= limit }

    mutating func add(_ row: AliasRow) {
        if let activity = row.activity { activities.append(activity) }
        last = max(last ?? row.key, row.key)
        count += 1
        isCut = count > limit
    }

    /// Adds the rows of another read, after the last one.
    mutating func add(_ rows: [AliasRow], isEnd: Bool) {
        for row in rows { add(row) }
        isCut = !isEnd
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
