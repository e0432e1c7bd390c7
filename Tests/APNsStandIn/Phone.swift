import Foundation
import RegistryCore

/// An accepted push on its way to a phone.
struct Push: Sendable {
    let id: String
    let token: String
    let expiration: Date
    let aps: JSONValue
    let target: PushTarget
    var timestamp: Int? { aps["timestamp"]?.integer }
    var event: String? { aps["event"]?.string }
    /// The alias of an example app's activity.
    var alias: String? { aps["attributes"]?["alias"]?.string }
}

package enum PushTarget: Sendable, Equatable {
    /// An update token.
    case activity(phone: String, id: String)
    /// A start token.
    case start(phone: String)

    package var phone: String {
        switch self {
        case .activity(let phone, _), .start(let phone): phone
        }
    }
}

package struct ShownActivity: Sendable, Equatable {
    package let id: String
    package let phone: String
    package let alias: String
    package fileprivate(set) var content: String
    /// The `aps.timestamp` of the content.
    package fileprivate(set) var timestamp: Int
    package fileprivate(set) var isEnded = false
}

/// A phone's state, as far as pushes change it.
package struct Phone: Sendable {
    package let id: String
    package internal(set) var isOnline = true
    /// Activities by id, including ended activities, without dismissed activities.
    package private(set) var activities: [String: ShownActivity] = [:]
    /// Contents that were dropped because newer contents had arrived before them.
    package private(set) var late = 0
    /// Aliases with a start that APNs replaced by a later push to the same token while the phone was offline.
    package private(set) var lostStarts: Set<String> = []
    /// Pushes that APNs stores while the phone is offline, one per token.
    var kept: [String: Push] = [:]
    private var startsSeen: Set<String> = []

    init(id: String) { self.id = id }

    /// The alias's activities that have not ended.
    package func running(_ alias: String) -> [ShownActivity] {
        activities.values.filter { $0.alias == alias && !$0.isEnded }
    }

    /// Stores a push until the phone reconnects, and replaces the previous one.
    mutating func keep(_ push: Push) {
        if let lost = kept[push.token]?.alias, lost != push.alias { lostStarts.insert(lost) }
        kept[push.token] = push
    }

    mutating func show(_ activity: ShownActivity) { activities[activity.id] = activity }
    mutating func remove(_ id: String) { activities[id] = nil }

    /// Applies a push.
    ///
    /// - Returns: the activity that it started.
    mutating func receive(_ push: Push) -> ShownActivity? {
        switch push.target {
        case .activity(_, let id): change(id, push)
        case .start: return start(push)
        }
        return nil
    }

    /// Drops a content that is not newer than the shown one, because Apple does not promise an order and compares `timestamp`.
    private mutating func change(_ id: String, _ push: Push) {
        guard var activity = activities[id], !activity.isEnded, let timestamp = push.timestamp else { return }
        guard timestamp > activity.timestamp else {
            late += 1
            return
        }
        activity.timestamp = timestamp
        if let content = push.aps["content-state"] { activity.content = content.description }
        activity.isEnded = push.event == "end"
        activities[id] = activity
    }

    /// A repeated `apns-id` has no effect. Apple does not promise this, but a sender without a response can do no better. Another push
    /// with the same `apns-collapse-id` starts a second activity, because Apple collapses only the display.
    private mutating func start(_ push: Push) -> ShownActivity? {
        guard push.event == "start", let timestamp = push.timestamp, let alias = push.alias,
            push.aps["attributes-type"] != nil,
            startsSeen.insert(push.id).inserted
        else { return nil }
        let activity = ShownActivity(
            id: "\(id)-\(alias)-\(startsSeen.count)",
            phone: id,
            alias: alias,
            content: push.aps["content-state"]?.description ?? "{}",
            timestamp: timestamp
        )
        activities[activity.id] = activity
        return activity
    }
}

extension ShownActivity {
    package init(id: String, phone: String, alias: String, timestamp: Int, content: String = "{}") {
        self.id = id
        self.phone = phone
        self.alias = alias
        self.content = content
        self.timestamp = timestamp
    }
}
