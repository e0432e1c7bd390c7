/// Facts that never change while an activity runs. The first received value stays (R6).
///
/// A new fact needs a property, a line in each of the three methods here, and one in each method of the store's
/// extension.
package struct ActivityFacts: Sendable, Hashable {
    package var attributesType: AttributesType?
    /// ActivityKit's `frequentPushesEnabled`. Nil if never received.
    package var frequentPushesEnabled: Bool?
    package init() {}

    /// - Parameter wereChecked: True for stored values, which are never rejected again.
    package init(from json: inout JSONReader, wereChecked: Bool = false) {
        attributesType =
            wereChecked
            ? json.optionalString("attributesType").map { AttributesType(stored: UTF8Text($0)) }
            : json.optionalString("attributesType", AttributesType.init)
        frequentPushesEnabled = json.optionalBool("frequentPushesEnabled")
    }

    package mutating func keepFirst(_ new: ActivityFacts) {
        attributesType = attributesType ?? new.attributesType
        frequentPushesEnabled = frequentPushesEnabled ?? new.frequentPushesEnabled
    }

    package func writeMembers(to json: inout JSONWriter) {
        json.member("attributesType", ifPresent: attributesType?.rawValue)
        json.member("frequentPushesEnabled", ifPresent: frequentPushesEnabled)
    }
}
