/// A sender's question on which phones an activity is to be updated, started or waited for.
package struct PlanRequest: Sendable, Hashable {
    package let alias: Alias
    /// The recipients, in addition to the bearers of the alias itself.
    package var to: [Alias]
    package let attributesType: AttributesType
    /// The time in which no other sender may start the activity on the same phone.
    package var lease: Duration
    /// How long ago a client may have confirmed a start token that is used.
    package var maxStartTokenAge: Duration
    /// Whether an activity that the user swiped away is started again.
    package var restartsDismissed: Bool
    /// The sender's own name of the plan: the same again gets the same leases.
    package var planID: UTF8Text?
    package var limit: Int
    /// Nil for the first page.
    package var cursor: String?
    package static let mostRecipients = 100
    package static let defaultLease = Duration.seconds(3600)
    /// The shortest lease: a push may be under way for as long.
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
    /// Nil and faults in the reader if any member is wrong.
    ///
    /// - Parameter longestLease: the lifetime of the app's activities.
    package static func read(_ json: inout JSONReader, longestLease: Duration) -> PlanRequest? {
        let alias = json.nested("alias") { Alias.read(&$0) }
        let attributesType = json.string("attributesType", AttributesType.init)
        let to = json.optionalNestedArray("to", maximumCount: mostRecipients) { Alias.read(&$0) }
        let shortest = min(shortestLease, longestLease)
        let lease = json.optional("lease", duration(from: shortest, to: longestLease))
        let age = json.optional("maxStartTokenAge", duration(from: .seconds(1), to: AppChanges.longestRetention))
        let restarts = json.optionalBool("restartDismissed")
        let planID = json.optionalString("planId", planID)
        let limit = json.optionalInteger("limit", in: ResolveBody.limits)
        let cursor = json.optionalString("cursor")
        guard let alias, let attributesType else { return nil }
        var request = PlanRequest(alias: alias, to: to ?? [], attributesType: attributesType)
        request.lease = lease ?? min(defaultLease, longestLease)
        request.maxStartTokenAge = age ?? defaultStartTokenAge
        request.restartsDismissed = restarts ?? false
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
