#if canImport(ActivityKit) && !os(macOS) && !targetEnvironment(macCatalyst)
    import ActivityKit
    import Foundation
    import RegistryClient

    extension LiveActivityRegistry {
        /// Follows all activities of a type of attributes, those that run and those that begin later, also by a push, and its
        /// start token. Follow every type of the app before ``start()``.
        ///
        /// ```swift
        /// registry.follow(DeliveryAttributes.self) { ["liveactivityId": $0.orderID] }
        /// registry.follow(MatchAttributes.self, startsAt: { $0.kickOff }) { ["liveactivityId": $0.matchID] }
        /// ```
        ///
        /// In an app whose declarations are the main actor's by default the attributes are declared `nonisolated`.
        ///
        /// - Parameters:
        ///   - keepsNewest: whether the older of two activities with one `liveactivityId` on this phone is ended.
        ///   - startsAt: when an activity that is scheduled (iOS 26) starts, for ActivityKit does not say.
        ///   - aliases: the names by which senders look an activity up.
        public nonisolated func follow<Attributes: ActivityAttributes & SendableMetatype>(
            _ type: Attributes.Type,
            keepsNewest: Bool = true,
            startsAt: @escaping @Sendable (Attributes) -> Date? = { _ in nil },
            aliases: @escaping @Sendable (Attributes) -> [String: String]
        ) {
            var followed = FollowedType(type, startsAt: startsAt, aliases: aliases)
            followed.keepsNewest = keepsNewest
            follow(followed, on: ActivityKitPhone())
        }

        /// Ends an activity, and takes note that it was not the user who dismissed it.
        ///
        /// ActivityKit's own `end` does as well, unless it dismisses at once.
        @available(iOS 16.2, *)
        public nonisolated func end<Attributes: ActivityAttributes & SendableMetatype>(
            _ activity: sending Activity<Attributes>,
            content: ActivityContent<Attributes.ContentState>? = nil,
            dismissalPolicy: ActivityUIDismissalPolicy = .default
        ) async where Attributes.ContentState: Sendable {
            await (attachment.withLock { $0.watch } as? ActivityWatch)?.endsHere(activity.id)
            await activity.end(content, dismissalPolicy: dismissalPolicy)
        }
    }
#endif
