import Foundation

/// Apple's push service and its phones, as a value without I/O.
///
/// Follows Apple's documentation. Where that is silent, the model makes things harder for a sender.
package struct APNsModel: Sendable {
    /// A token's budget for pushes of priority 10.
    package struct Budget: Sendable {
        /// Maximum pushes at once.
        package var burst = 20.0
        /// Sustained pushes per hour.
        package var hourly = 60.0
    }

    package struct Record: Sendable {
        package let token: String
        package let at: Date
        package let fields: [String: String]
        package let event: String?
        package let timestamp: Int?
        package let answer: PushResponse
    }

    struct Entry: Sendable {
        let target: PushTarget
        let topic: String
        var deadAt: Date?
        var budget: Double
        var budgetAt = Date.distantPast
    }

    package static let largestPayload = 4096

    package var budget = Budget()
    package internal(set) var providerTokens: ProviderTokens
    package internal(set) var phones: [String: Phone] = [:]
    package internal(set) var records: [Record] = []
    var tokens: [String: Entry] = [:]

    package init(key: ProviderKey) { providerTokens = ProviderTokens(key: key) }

    /// Adds a token. A phone is created with its first token.
    package mutating func add(_ token: String, _ target: PushTarget, topic: String) {
        if phones[target.phone] == nil { phones[target.phone] = Phone(id: target.phone) }
        tokens[token] = Entry(target: target, topic: topic, budget: budget.burst)
    }

    /// Makes APNs answer 410 for a token, with `time` in the response.
    package mutating func kill(_ token: String, at time: Date) {
        tokens[token]?.deadAt = time
        tokens[token].map { entry in phones[entry.target.phone]?.kept[token] = nil }
    }

    package mutating func show(_ activity: ShownActivity) {
        phones[activity.phone, default: Phone(id: activity.phone)].show(activity)
    }

    package mutating func dismiss(_ id: String, on phone: String) { phones[phone]?.remove(id) }

    package mutating func disconnect(_ phone: String) { phones[phone]?.isOnline = false }

    /// Reconnects a phone and delivers its stored pushes.
    ///
    /// - Returns: the activities that these pushes start.
    package mutating func connect(_ phone: String, at now: Date) -> [ShownActivity] {
        let kept = phones[phone].map { Array($0.kept.values) } ?? []
        phones[phone]?.isOnline = true
        phones[phone]?.kept = [:]
        return kept.filter { $0.expiration > now }.compactMap { phones[phone]?.receive($0) }
    }
}
