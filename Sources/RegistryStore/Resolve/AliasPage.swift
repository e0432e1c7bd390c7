import RegistryCore

/// One page of what an alias names.
package struct AliasPage: Sendable, Hashable {
    /// The activities with a token that may be handed out, in the order of their internal numbers.
    package let activities: [ResolvedActivity]
    /// The alias's channel; at most one.
    package let channels: [BroadcastChannel]
    /// The number behind which there may be more; nil when these are the last.
    package let next: Int64?

    /// Makes a page of its parts.
    package init(activities: [ResolvedActivity], channels: [BroadcastChannel], next: Int64?) {
        (self.activities, self.channels, self.next) = (activities, channels, next)
    }
}

/// The rows of an alias that were looked at for a page, and its channel.
struct AliasRows: Sendable {
    private(set) var activities: [ResolvedActivity] = []
    var channels: [BroadcastChannel] = []
    /// The greatest number of the rows.
    private(set) var last: Int64?
    /// How many activities the page may have. One row more, if there is one, tells that there is another page.
    private let limit: Int
    private var count = 0
    /// Whether there are others.
    private var isCut: Bool

    init(limit: Int) { (self.limit, isCut) = (limit, false) }

    /// So many of the rows are withheld that others have to be looked at to fill the page.
    var isShort: Bool { isCut && activities.count <= limit }

    /// Adds a row, in any order of those of one look.
    mutating func add(_ row: AliasRow) {
        if let activity = row.activity { activities.append(activity) }
        last = max(last ?? row.number, row.number)
        count += 1
        isCut = count > limit
    }

    /// Adds the rows of another look, behind the last one.
    mutating func add(_ rows: [AliasRow], isEnd: Bool) {
        for row in rows { add(row) }
        isCut = !isEnd
    }

    var page: AliasPage {
        let found = activities.count > 1 ? activities.sorted { $0.number < $1.number } : activities
        guard found.count > limit else {
            return AliasPage(activities: found, channels: channels, next: isCut ? last : nil)
        }
        let first = Array(found.prefix(limit))
        return AliasPage(activities: first, channels: channels, next: first.last?.number ?? last)
    }
}
