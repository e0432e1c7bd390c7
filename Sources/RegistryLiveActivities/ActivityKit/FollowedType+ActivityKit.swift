#if canImport(ActivityKit) && !os(macOS) && !targetEnvironment(macCatalyst)
    import ActivityKit
    import Foundation

    extension FollowedType {
        /// A type of attributes, as ActivityKit has it.
        init<Attributes: ActivityAttributes & SendableMetatype>(
            _ type: Attributes.Type,
            startsAt: @escaping @Sendable (Attributes) -> Date?,
            aliases: @escaping @Sendable (Attributes) -> [String: String]
        ) {
            let wrapped: @Sendable (Activity<Attributes>) -> any PhoneActivity = { activity in
                ActivityKitActivity(activity, aliases(activity.attributes), startsAt(activity.attributes))
            }
            self.init(
                name: "\(type)",
                activities: { Activity<Attributes>.activities.map(wrapped) },
                newActivities: { .subscribed(to: Activity<Attributes>.activityUpdates, wrapped) },
                startToken: { Self.startToken(of: Attributes.self) },
                startTokens: { Self.startTokens(of: Attributes.self) }
            )
        }

        private static func startToken<Attributes: ActivityAttributes & SendableMetatype>(of type: Attributes.Type)
            -> Data?
        {
            guard #available(iOS 17.2, *) else { return nil }
            return Activity<Attributes>.pushToStartToken
        }

        private static func startTokens<Attributes: ActivityAttributes & SendableMetatype>(
            of type: Attributes.Type
        ) -> AsyncStream<Data> {
            guard #available(iOS 17.2, *) else { return AsyncStream { $0.finish() } }
            return .subscribed(to: Activity<Attributes>.pushToStartTokenUpdates) { $0 }
        }
    }
#endif
