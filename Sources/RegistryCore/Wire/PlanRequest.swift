/// A sender's request for the phones on which to update, start or wait for an activity.
package struct PlanRequest: Sendable, Hashable {
    package let alias: Alias
    /// Recipients in addition to the installations with the alias itself.
    package var to: [Alias] = []
    package let attributesType: AttributesType
    /// The time in which no other sender may start the activity on the same phone.
    package var lease = PlanRequest.defaultLease
    /// The maximum time since a client confirmed the start token.
    package var maxStartTokenAge = PlanRequest.defaultStartTokenAge
    /// Whether to start an activity again that the user swiped away.
    package var restartsDismissed = false
    /// How long before its end a running activity is replaced by a new one; nil for never.
    package var renewBefore: Duration?
    /// The sender's own name of the plan. A repeated name gets the same leases.
    package var planID: UTF8Text?
    package var limit = ResolveBody.defaultLimit
    package var includesMetadata = false
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
    }

    /// - Parameter longestLease: The lifetime of the app's activities.
    package static func read(_ json: inout JSONReader, longestLease: Duration) -> PlanRequest? {
        let alias = json.nested("alias") { Alias.read(&$0) }
        let attributesType = json.string("attributesType", AttributesType.init)
        let to = json.optionalNestedArray("to", maximumCount: mostRecipients) { Alias.read(&$0) }
        let shortest = min(shortestLease, longestLease)
        let lease = json.optional("lease", Duration.within(shortest...longestLease))
        let age = json.optional("maxStartTokenAge", Duration.within(AppChanges.retentions))
        let restarts = json.optional("restartDismissed", Bool.read)
        // At most half a lifetime, so that the new activity is not due at once.
        let half = longestLease / 2
        let renewBefore = json.optional("renewBefore", Duration.within(min(shortestLease, half)...half))
        let planID = json.optionalString("planId", ActivityID.init)
        let limit = json.optional("limit", Int.within(ResolveBody.limits))
        let cursor = json.optional("cursor", String.read)
        guard let alias, let attributesType else { return nil }
        var request = PlanRequest(alias: alias, to: to ?? [], attributesType: attributesType)
        request.lease = lease ?? min(defaultLease, longestLease)
        request.maxStartTokenAge = age ?? request.maxStartTokenAge
        request.restartsDismissed = restarts ?? false
        request.renewBefore = renewBefore
        request.planID = planID?.rawValue
        request.limit = limit ?? request.limit
        request.cursor = cursor
        return request
    }
}

package enum PlanReason: String, Sendable, Hashable, CaseIterable {
    /// The activity runs. Its first token can still arrive, within a minute of its first request.
    case tokenPending = "token-pending"
    /// The activity runs without a token. A broadcast channel reaches it.
    case channel
    /// The activity runs without a token, and its app alone updates it.
    case noPush = "no-push"
    /// The activity runs without a deliverable token.
    case noUpdateToken = "no-update-token"
    case dismissed
    case leased
    /// The last start failed, and the back-off is not over.
    case backOff = "back-off"
    /// Three starts were tried within a day.
    case startFailed = "start-failed"
    /// No start token of the type is deliverable.
    case noStartToken = "no-start-token"
    /// No client confirmed the start token recently. APNs accepts pushes to old start tokens, and the phone shows
    /// nothing.
    case startUnconfirmed = "start-unconfirmed"
}
