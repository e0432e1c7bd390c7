import Foundation
import RegistryCore

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

extension APNsModel {
    /// Answers a push and applies its effects.
    ///
    /// - Returns: the response, and the activity that a phone started immediately.
    package mutating func receive(_ request: PushRequest, at now: Date) -> (
        answer: PushResponse, started: ShownActivity?
    ) {
        let aps = request.aps
        if let refusal = refusal(of: request, aps, now) {
            record(request, aps, refusal, now)
            return (refusal, nil)
        }
        record(request, aps, PushResponse(200), now)
        guard let token = request.token, let entry = tokens[token], let aps else { return (PushResponse(200), nil) }
        let push = Push(
            id: request.fields["apns-id"] ?? UUID().uuidString,
            token: token,
            expiration: request.expiration,
            aps: aps,
            target: entry.target
        )
        return (PushResponse(200), deliver(push, at: now))
    }

    private mutating func deliver(_ push: Push, at now: Date) -> ShownActivity? {
        let phone = push.target.phone
        guard phones[phone]?.isOnline == true else {
            if push.expiration > now { phones[phone]?.keep(push) }
            return nil
        }
        return phones[phone]?.receive(push)
    }

    mutating func record(_ request: PushRequest, _ aps: JSONValue?, _ answer: PushResponse, _ now: Date) {
        records.append(
            Record(
                token: request.token ?? "",
                at: now,
                fields: request.fields.filter { $0.key != "authorization" },
                event: aps?["event"]?.string,
                timestamp: aps?["timestamp"]?.integer,
                answer: answer
            )
        )
    }

    private mutating func refusal(of request: PushRequest, _ aps: JSONValue?, _ now: Date) -> PushResponse? {
        if let refusal = Self.malformation(of: request) { return refusal }
        if let refusal = providerTokens.refusal(of: request.fields["authorization"], at: now) { return refusal }
        if let refusal = refusalByToken(request) { return refusal }
        guard aps != nil else { return PushResponse(400, "BadPayload") }
        return request.priority == 10 && !spend(request.token ?? "", now) ? PushResponse(429, "TooManyRequests") : nil
    }

    private static func malformation(of request: PushRequest) -> PushResponse? {
        guard request.method == "POST" else { return PushResponse(405, "MethodNotAllowed") }
        guard let token = request.token else { return PushResponse(404, "BadPath") }
        guard !token.isEmpty else { return PushResponse(400, "MissingDeviceToken") }
        guard !request.body.isEmpty else { return PushResponse(400, "PayloadEmpty") }
        guard request.body.count <= largestPayload else { return PushResponse(413, "PayloadTooLarge") }
        if let id = request.fields["apns-id"], UUID(uuidString: id) == nil { return PushResponse(400, "BadMessageId") }
        if let id = request.fields["apns-collapse-id"], id.utf8.count > 64 { return PushResponse(400, "BadCollapseId") }
        if let text = request.fields["apns-expiration"], Int(text) == nil {
            return PushResponse(400, "BadExpirationDate")
        }
        guard [1, 5, 10].contains(request.priority) else { return PushResponse(400, "BadPriority") }
        return nil
    }

    private func refusalByToken(_ request: PushRequest) -> PushResponse? {
        guard let topic = request.fields["apns-topic"] else { return PushResponse(400, "MissingTopic") }
        let type = topic.hasSuffix(".push-type.liveactivity") ? "liveactivity" : "alert"
        guard request.fields["apns-push-type"] == type else { return PushResponse(400, "InvalidPushType") }
        guard let token = request.token, let entry = tokens[token] else { return PushResponse(400, "BadDeviceToken") }
        guard entry.topic == topic else { return PushResponse(400, "DeviceTokenNotForTopic") }
        return entry.deadAt.map { PushResponse(410, "Unregistered", deadAt: $0) }
    }

    private mutating func spend(_ token: String, _ now: Date) -> Bool {
        guard var entry = tokens[token] else { return true }
        let earned = max(0, now.timeIntervalSince(entry.budgetAt)) * budget.hourly / 3600
        entry.budget = min(budget.burst, entry.budget + earned)
        entry.budgetAt = now
        let isEnough = entry.budget >= 1
        if isEnough { entry.budget -= 1 }
        tokens[token] = entry
        return isEnough
    }
}
