import Foundation
import RegistryClient

/// An activity that was seen, subscribed to at that moment, so that nothing it says is missed.
struct Sighting: Sendable {
    let type: FollowedType
    let activity: any PhoneActivity
    let tokens: AsyncStream<Data>
    let phases: AsyncStream<ActivityPhase>

    init(_ activity: any PhoneActivity, of type: FollowedType) {
        (self.type, self.activity) = (type, activity)
        (tokens, phases) = (activity.tokens(), activity.phases())
    }
}

/// An activity that is followed until it is over.
struct FollowedActivity: Sendable {
    let type: FollowedType
    let activity: any PhoneActivity
    let tasks: [Task<Void, Never>]
}

extension ActivityRegistration {
    /// An activity with all that is known of it.
    init(_ activity: any PhoneActivity, of type: FollowedType, on phone: any Phone, token: Data? = nil) {
        self.init(activityID: UTF8Text(activity.id), token: (token ?? activity.token).map { Token($0) })
        attributesType = type.name
        aliases = activity.aliases.mapValues { [$0] }
        startsAt = activity.startsAt.map { Timestamp($0) }
        frequentPushesEnabled = phone.areFrequentPushesEnabled
    }
}
