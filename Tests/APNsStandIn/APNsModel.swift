import Foundation

/// Apple's push service and the phones behind it, as a value without I/O.
///
/// It follows Apple's documentation, and where that is silent what is harder for a sender.
package struct APNsModel: Sendable {
    /// The budget of one token for pushes of priority 10.
    package struct Budget: Sendable {
        /// Pushes that may come at once.
        package var burst = 20.0
        /// Pushes in an hour, in the long run.
        package var hourly = 60.0
    }

    /// A push that APNs took, or one that it refused.
    package struct Record: Sendable {
        package let token: String
        package let at: Date
        package let fields: [String: String]
        package let event: String?
        package let timestamp: Int?
        package let answer: PushResponse
        /// Whether the sender has surely got the answer: its connection neither broke nor was being sent away.
        package internal(set) var isDelivered = false
    }

    struct Entry: Sendable {
        let target: PushTarget
        let topic: String
        let isProduction: Bool
        var deadAt: Date?
        var budget: Double
        var budgetAt = Date.distantPast
    }

    package static let largestPayload = 4096

    /// Whether this is the service for production, or for sandbox.
    package let isProduction: Bool
    package var budget = Budget()
    package internal(set) var providerTokens: ProviderTokens
    package internal(set) var phones: [String: Phone] = [:]
    /// All answers, in their order.
    package internal(set) var records: [Record] = []
    var tokens: [String: Entry] = [:]

    package init(isProduction: Bool = false, key: ProviderKey) {
        self.isProduction = isProduction
        providerTokens = ProviderTokens(key: key)
    }

    /// Makes a token lead somewhere; the phone comes into being with its first one.
    package mutating func add(_ token: String, _ target: PushTarget, topic: String, isProduction: Bool = false) {
        if phones[target.phone] == nil { phones[target.phone] = Phone(id: target.phone) }
        tokens[token] = Entry(target: target, topic: topic, isProduction: isProduction, budget: budget.burst)
    }

    /// Makes APNs answer 410 for a token; the time is what it will say.
    package mutating func kill(_ token: String, at time: Date) {
        tokens[token]?.deadAt = time
        tokens[token].map { entry in phones[entry.target.phone]?.kept[token] = nil }
    }

    /// Shows an activity that the app started.
    package mutating func show(_ activity: ShownActivity) {
        phones[activity.phone, default: Phone(id: activity.phone)].show(activity)
    }

    /// Takes an activity off a phone, as its user's swipe does.
    package mutating func dismiss(_ id: String, on phone: String) { phones[phone]?.remove(id) }

    /// Takes a phone off the network.
    package mutating func disconnect(_ phone: String) { phones[phone]?.isOnline = false }

    /// Brings a phone back, and what APNs kept for it.
    ///
    /// - Returns: the activities that it starts.
    package mutating func connect(_ phone: String, at now: Date) -> [ShownActivity] {
        let kept = phones[phone].map { Array($0.kept.values) } ?? []
        phones[phone]?.isOnline = true
        phones[phone]?.kept = [:]
        return kept.filter { $0.expiration > now }.compactMap { phones[phone]?.receive($0) }
    }
}
