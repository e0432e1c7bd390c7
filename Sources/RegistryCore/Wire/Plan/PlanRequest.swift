/// A sender's request for the phones on which to update, start or wait for an activity.
package struct PlanRequest: Sendable, Hashable {
    package let alias: Alias
    /// Recipients in addition to the installations with the alias itself.
    package var to: [Alias]
    package let attributesType: AttributesType
    /// The time in which no other sender may start the activity on the same phone.
    package var lease: Duration
    /// The maximum time since a client confirmed the start token.
    package var maxStartTokenAge: Duration
    /// Whether to start an activity again that the user swiped away.
    package var restartsDismissed: Bool
    /// How long before its end a running activity is replaced by a new one; nil for never.
    package var renewBefore: Duration?
    /// The sender's own name of the plan. A repeated name gets the same leases.
    package var planID: UTF8Text?
    package var limit: Int
    /// Whether the entries contain metadata.
    package var includesMetadata = false
    /// Nil for the first page.
    package var cursor: String?
    package static let mostRecipients = 100
    package static let defaultLease = Duration.seconds(3600)
    /// A push can take this time to arrive.
    package static let shortestLease = Duration.seconds(60)
    package static let defaultStartTokenAge = Duration.seconds(14 * 86_400)

    package init(alias: Alias, to: [Alias] = [], attributesType: AttributesType) {
        self.alias = alias
        self.to = to
        self.attributesType = attributesType
        lease = Self.defaultLease
        maxStartTokenAge = Self.defaultStartTokenAge
        restartsDismissed = false
        limit = ResolveBody.defaultLimit
    }
}

extension PlanRequest {
    /// - Parameter longestLease: The lifetime of the app's activities.
    package static func read(_ json: inout JSONReader, longestLease: Duration) -> PlanRequest? {
        let alias = json.nested("alias") { Alias.read(&$0) }
        let attributesType = json.string("attributesType", AttributesType.init)
        let to = json.optionalNestedArray("to", maximumCount: mostRecipients) { Alias.read(&$0) }
        let shortest = min(shortestLease, longestLease)
        let lease = json.optional("lease", duration(from: shortest, to: longestLease))
        let age = json.optional("maxStartTokenAge", duration(from: .seconds(1), to: AppChanges.longestRetention))
        let restarts = json.optionalBool("restartDismissed")
        // At most half a lifetime, so that the new activity is not due at once.
        let renewBefore = json.optional(
            "renewBefore",
            duration(from: min(shortestLease, longestLease / 2), to: longestLease / 2)
        )
        let planID = json.optionalString("planId", planID)
        let limit = json.optionalInteger("limit", in: ResolveBody.limits)
        let cursor = json.optionalString("cursor")
        guard let alias, let attributesType else { return nil }
        var request = PlanRequest(alias: alias, to: to ?? [], attributesType: attributesType)
        request.lease = lease ?? min(defaultLease, longestLease)
        request.maxStartTokenAge = age ?? defaultStartTokenAge
        request.restartsDismissed = restarts ?? false
        request.renewBefore = renewBefore
        request.planID = planID
        request.limit = limit ?? ResolveBody.defaultLimit
        request.cursor = cursor
        return request
    }

    private static func duration(
        from shortest: Duration,
        to longest: Duration
    ) -> (JSONValue) throws(JSONFaultReason) -> Duration {
        { value throws(JSONFaultReason) in
            let duration = try Duration.read(value)
            guard duration >= shortest, duration <= longest else {
                let limits = [shortest, longest].map(ISO8601Duration.format)
                throw JSONFaultReason("must be from \(limits[0]) to \(limits[1])")
            }
            return duration
        }
    }

    private static func planID(_ text: String) throws(JSONFaultReason) -> UTF8Text {
        try ActivityID(text).rawValue
    }
}
