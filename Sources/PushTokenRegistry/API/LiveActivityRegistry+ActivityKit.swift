extension LiveActivityRegistry {
    /// Follows a type on a system. The first type creates the watch.
    package nonisolated func follow(_ type: any ActivityTypeAdapter, on system: any ActivitySystem) {
        let watch = createdWatch.withLock { watch in
            watch = watch ?? ActivityWatch(system: system, clock: configuration.clock, sink: self)
            return watch
        }
        if watch?.types.contains(where: { $0.name == type.name }) == true {
            configuration.log(.error, "\(type.name) is followed already; iOS has one start token for types of one name")
        }
        watch?.follow(type)
        if isActive.withLock({ $0 }) { watch?.start() }
    }

    /// Announces that the app is about to end an activity through ActivityKit with `.immediate`, so that the dismissal is not reported
    /// as the user's.
    ///
    /// - Parameter activityID: `Activity.id`.
    public nonisolated func willEnd(activityID: String) async { await watch?.endsHere(activityID) }
}

#if canImport(ActivityKit) && !os(macOS) && !targetEnvironment(macCatalyst)
    import ActivityKit
    import Foundation

    @available(iOSApplicationExtension, unavailable)
    extension LiveActivityRegistry {
        /// Follows all activities of a type, those that run and those that begin later, also by a push, and its start token.
        ///
        /// ```swift
        /// registry.follow(DeliveryAttributes.self, id: \.orderID)
        /// ```
        ///
        /// Follow each type of the app before ``activate()``. If the app's declarations are isolated to the main actor by default,
        /// declare the attributes `nonisolated`.
        ///
        /// - Parameters:
        ///   - pushType: how the app requests activities of this type.
        ///   - endsDuplicates: whether the older of two activities with one id on this phone is ended once the newer has its token.
        ///   - startsAt: the start of a scheduled activity (iOS 26), which ActivityKit does not return.
        ///   - id: the `liveactivityId` by which senders find the activity.
        public nonisolated func follow<Attributes: ActivityAttributes & SendableMetatype>(
            _ type: Attributes.Type,
            pushType: FollowedPushType = .token,
            endsDuplicates: Bool = true,
            startsAt: @escaping @Sendable (Attributes) -> Date? = { _ in nil },
            id: @escaping @Sendable (Attributes) -> String
        ) {
            follow(type, pushType: pushType, endsDuplicates: endsDuplicates, startsAt: startsAt) {
                ["liveactivityId": id($0)]
            }
        }

        /// Follows a type like ``follow(_:pushType:endsDuplicates:startsAt:id:)``, with several names for each activity.
        ///
        /// ```swift
        /// registry.follow(MatchAttributes.self) { ["liveactivityId": $0.matchID, "team": $0.homeTeam] }
        /// ```
        ///
        /// - Parameter aliases: the names by which senders find the activity, by kind.
        public nonisolated func follow<Attributes: ActivityAttributes & SendableMetatype>(
            _ type: Attributes.Type,
            pushType: FollowedPushType = .token,
            endsDuplicates: Bool = true,
            startsAt: @escaping @Sendable (Attributes) -> Date? = { _ in nil },
            aliases: @escaping @Sendable (Attributes) -> [String: String]
        ) {
            follow(
                ActivityKitType(
                    pushType: pushType,
                    endsDuplicates: endsDuplicates,
                    startsAt: startsAt,
                    aliases: aliases
                ),
                on: ActivityKitSystem()
            )
        }

        /// Ends an activity through ActivityKit, as the app's own end and not the user's dismissal.
        ///
        /// - Parameter id: `Activity.id`. An unknown id does nothing.
        @available(iOS 16.2, *)
        public nonisolated func end<Attributes: ActivityAttributes & SendableMetatype>(
            _ type: Attributes.Type,
            id: String,
            content: ActivityContent<Attributes.ContentState>? = nil,
            dismissalPolicy: ActivityUIDismissalPolicy = .default
        ) async where Attributes.ContentState: Sendable {
            await willEnd(activityID: id)
            guard let activity = Activity<Attributes>.activities.first(where: { $0.id == id }) else { return }
            await activity.end(content, dismissalPolicy: dismissalPolicy)
        }
    }
#endif
