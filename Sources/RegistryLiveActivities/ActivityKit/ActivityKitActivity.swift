#if canImport(ActivityKit) && !os(macOS) && !targetEnvironment(macCatalyst)
    import ActivityKit
    import Foundation

    /// An activity of ActivityKit.
    struct ActivityKitActivity<Attributes: ActivityAttributes & SendableMetatype>: PhoneActivity {
        // ActivityKit does not mark the class Sendable, yet gives its objects to any thread that asks, and nothing of what is
        // used here can be set.
        private nonisolated(unsafe) let activity: Activity<Attributes>
        let aliases: [String: String]
        let startsAt: Date?

        init(_ activity: Activity<Attributes>, _ aliases: [String: String], _ startsAt: Date?) {
            (self.activity, self.aliases, self.startsAt) = (activity, aliases, startsAt)
        }

        var id: String { activity.id }
        var phase: ActivityPhase { ActivityPhase(activity.activityState) }
        var token: Data? { activity.pushToken }

        func tokens() -> AsyncStream<Data> { .subscribed(to: activity.pushTokenUpdates) { $0 } }

        func phases() -> AsyncStream<ActivityPhase> {
            .subscribed(to: activity.activityStateUpdates) { ActivityPhase($0) }
        }

        func end() async {
            guard #available(iOS 16.2, *) else { return }
            await activity.end(nil, dismissalPolicy: .immediate)
        }
    }

    extension ActivityPhase {
        /// A state that a later iOS adds counts as running: only an end may end an activity.
        init(_ state: ActivityState) {
            if #available(iOS 26.0, *), state == .pending {
                self = .pending
            } else if #available(iOS 16.2, *), state == .stale {
                self = .stale
            } else {
                self = state == .ended ? .ended : state == .dismissed ? .dismissed : .active
            }
        }
    }
#endif
