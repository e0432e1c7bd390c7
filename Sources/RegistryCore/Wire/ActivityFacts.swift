/// The facts of an activity that never change while it runs: for each, the first value given stays.
///
/// A new one needs a property, a line in each of the three methods here, and one in each method of the store's extension.
package struct ActivityFacts: Sendable, Hashable {
    package var attributesType: AttributesType?
    /// ActivityKit's `frequentPushesEnabled`; nil if the app never said.
    package var frequentPushesEnabled: Bool?
    package init() {}

    /// Leaves faults in the reader: if there are any, this must not be used.
    ///
    /// - Parameter wereChecked: they were stored, so no value is refused again.
    package init(from json: inout JSONReader, wereChecked: Bool = false) {
        attributesType =
            wereChecked
            ? json.optionalString("attributesType").map { AttributesType(stored: UTF8Text($0)) }
            : json.optionalString("attributesType", AttributesType.init)
        frequentPushesEnabled = json.optionalBool("frequentPushesEnabled")
    }

    /// Keeps the first value received of each fact (R6).
    package mutating func keepFirst(_ new: ActivityFacts) {
        attributesType = attributesType ?? new.attributesType
        frequentPushesEnabled = frequentPushesEnabled ?? new.frequentPushesEnabled
    }

    package func writeMembers(to json: inout JSONWriter) {
        json.member("attributesType", ifPresent: attributesType?.rawValue)
        json.member("frequentPushesEnabled", ifPresent: frequentPushesEnabled)
    }
}
