/// Facts that never change while an activity runs. The first received value stays (R6).
///
/// A new fact needs a property, a line in each of the three methods here, and one in each method of the store's
/// extension.
package struct ActivityFacts: Sendable, Hashable {
    package var attributesType: AttributesType?
    /// ActivityKit's `frequentPushesEnabled`. Nil if never received.
    package var frequentPushesEnabled: Bool?
    /// Set for an activity that gets no token by design. Not read for senders' responses, where `pushType` is the
    /// `apns-push-type` header: they have the reason instead.
    package var pushType: ActivityPushType?
    package init() {}

    /// - Parameter wereChecked: True for stored values, which are never rejected again.
    package init(from json: inout JSONReader, wereChecked: Bool = false) {
        attributesType =
            wereChecked
            ? json.optional("attributesType", String.read).map { AttributesType(stored: UTF8Text($0)) }
            : json.optionalString("attributesType", AttributesType.init)
        frequentPushesEnabled = json.optional("frequentPushesEnabled", Bool.read)
        pushType = json.optionalString("pushType", ActivityPushType.init)
    }

    package mutating func keepFirst(_ new: ActivityFacts) {
        attributesType = attributesType ?? new.attributesType
        frequentPushesEnabled = frequentPushesEnabled ?? new.frequentPushesEnabled
        pushType = pushType ?? new.pushType
    }

    package func writeMembers(to json: inout JSONWriter) {
        json.member("attributesType", ifPresent: attributesType?.rawValue)
        json.member("frequentPushesEnabled", ifPresent: frequentPushesEnabled)
        json.member("pushType", ifPresent: pushType?.rawValue)
    }
}

/// How an activity without a token receives updates.
package enum ActivityPushType: String, Sendable, Hashable, CaseIterable {
    /// By a broadcast channel.
    case channel
    /// By its app alone.
    case appOnly = "none"

    init(_ text: String) throws(JSONFaultReason) {
        guard let type = Self(rawValue: text) else {
            throw JSONFaultReason("must be \"channel\" or \"none\"; omit it for an activity that gets a token")
        }
        self = type
    }
}
