import RegistryCore

/// The requests that may be in one batch.
///
/// No activity and no token value occurs twice: one `INSERT … ON CONFLICT` cannot touch a row twice, and later
/// statements of the transaction read the effect of exactly one request per activity.
struct RegistrationSelection {
    let isGuarded: Bool
    private var activities: Set<ActivityID> = []
    private var tokens: Set<PushToken> = []

    init(isGuarded: Bool) { self.isGuarded = isGuarded }

    /// Takes a request unless its activity or token was offered before; then it must wait for a later batch, and so
    /// must all later requests for the same activity or token.
    mutating func add(_ request: RegistrationRequest) -> Bool {
        let isNewActivity = activities.insert(request.id).inserted
        let isNewToken = request.registration.token.map { tokens.insert($0).inserted } ?? true
        return isNewActivity && isNewToken && request.isGuarded == isGuarded
    }
}
