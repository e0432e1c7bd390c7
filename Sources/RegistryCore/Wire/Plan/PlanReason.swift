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
