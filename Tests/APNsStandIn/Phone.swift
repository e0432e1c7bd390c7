import Foundation

/// A push on its way to a phone: what APNs took and may keep.
struct Push: Sendable {
    let id: String
    let token: String
    let expiration: Date
    let payload: [String: JSONText]
    let target: PushTarget
}

/// Something that a token leads to.
package enum PushTarget: Sendable, Equatable {
    /// A running activity, by its update token.
    case activity(phone: String, id: String)
    /// The start of activities, by a start token.
    case start(phone: String)
    /// Ordinary notifications, by a device token.
    case notifications(phone: String)

    package var phone: String {
        switch self {
        case .activity(let phone, _), .start(let phone), .notifications(let phone): phone
        }
    }
}

/// An activity that a phone shows.
package struct ShownActivity: Sendable, Equatable {
    package let id: String
    package let phone: String
    package let alias: String
    /// The content state as JSON with sorted keys.
    package fileprivate(set) var content: String
    /// The `aps.timestamp` of that content.
    package fileprivate(set) var timestamp: Int
    package fileprivate(set) var isEnded = false
}

/// A phone, as far as pushes change what it shows.
package struct Phone: Sendable {
    package let id: String
    package internal(set) var isOnline = true
    /// Its activities by their ids, those that have ended among them; one that was dismissed is gone.
    package private(set) var activities: [String: ShownActivity] = [:]
    /// Ordinary notifications that it showed.
    package private(set) var notifications = 0
    /// Contents that came after newer ones, and were dropped.
    package private(set) var late = 0
    /// The aliases whose start APNs threw away for a later push to the same token while the phone was offline.
    package private(set) var lostStarts: Set<String> = []
    /// APNs's store for it while it is offline: one push a token.
    var kept: [String: Push] = [:]
    private var startsSeen: Set<String> = []

    init(id: String) { self.id = id }

    /// Those of an alias that have not ended.
    package func running(_ alias: String) -> [ShownActivity] {
        activities.values.filter { $0.alias == alias && !$0.isEnded }
    }

    /// Keeps a push until the phone is back, in the place of the one before.
    mutating func keep(_ push: Push) {
        if let lost = kept[push.token]?.alias, lost != push.alias { lostStarts.insert(lost) }
        kept[push.token] = push
    }

    mutating func show(_ activity: ShownActivity) { activities[activity.id] = activity }
    mutating func remove(_ id: String) { activities[id] = nil }

    /// Shows what a push says.
    ///
    /// - Returns: the activity that it started.
    mutating func receive(_ push: Push) -> ShownActivity? {
        switch push.target {
        case .notifications: notifications += 1
        case .activity(_, let id): change(id, push)
        case .start: return start(push)
        }
        return nil
    }

    /// A content that is no newer than the one shown is dropped: Apple promises no order, and compares `timestamp`.
    private mutating func change(_ id: String, _ push: Push) {
        guard var activity = activities[id], !activity.isEnded, let timestamp = push.timestamp else { return }
        guard timestamp > activity.timestamp else {
            late += 1
            return
        }
        activity.timestamp = timestamp
        if let content = push.payload["content-state"] { activity.content = content.text }
        activity.isEnded = push.event == "end"
        activities[id] = activity
    }

    /// The same push twice is one, which its `apns-id` tells; Apple does not promise it, but a sender who got no answer can do no
    /// better. Another push of the same `apns-collapse-id` starts a second activity: Apple collapses what is displayed.
    private mutating func start(_ push: Push) -> ShownActivity? {
        guard push.event == "start", let timestamp = push.timestamp, let alias = push.alias,
            push.payload["attributes-type"] != nil,
            startsSeen.insert(push.id).inserted
        else { return nil }
        let activity = ShownActivity(
            id: "\(id)-\(alias)-\(startsSeen.count)",
            phone: id,
            alias: alias,
            content: push.payload["content-state"]?.text ?? "{}",
            timestamp: timestamp
        )
        activities[activity.id] = activity
        return activity
    }
}

extension ShownActivity {
    /// An activity that the app starts by itself.
    package init(id: String, phone: String, alias: String, timestamp: Int, content: String = "{}") {
        self.id = id
        self.phone = phone
        self.alias = alias
        self.content = content
        self.timestamp = timestamp
    }
}
