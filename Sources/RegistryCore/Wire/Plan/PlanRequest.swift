/// A sender's question on which phones an activity is to be updated, started or waited for.
package struct PlanRequest: Sendable, Hashable {
    /// The activity that is wanted, such as (`liveactivityId`, `order-42`).
    package let alias: Alias
    /// The names of those on whose phones it is wanted, beside those that bear the alias themselves.
    package var to: [Alias]
    /// The type of the start tokens that are asked for.
    package let attributesType: AttributesType
    /// How long nobody else may start the activity on a phone on which the sender is told to.
    package var lease: Duration
    /// How long ago a client may have confirmed a start token that is used.
    package var maxStartTokenAge: Duration
    /// Whether an activity that the user swiped away is started again.
    package var restartsDismissed: Bool
    /// The sender's own name of the plan: the same again gets the same leases.
    package var planID: UTF8Text?
    /// The most entries of a page.
    package var limit: Int
    /// Where the page begins; nil for the first one.
    package var cursor: String?

    /// The most aliases in `to`.
    package static let mostRecipients = 100
    /// The lease that is taken when nothing is said.
    package static let defaultLease = Duration.seconds(3600)
    /// The shortest lease: a push may be under way for as long.
    package static let shortestLease = Duration.seconds(60)
    /// The age of start tokens when nothing is said.
    package static let defaultStartTokenAge = Duration.seconds(14 * 86_400)

    /// Makes a request in which all that may be left out has its default.
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
    /// Reads `{alias, to, attributesType, lease, maxStartTokenAge, restartDismissed, planId, limit, cursor}`; nil and faults in
    /// the reader when any of it is wrong.
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
