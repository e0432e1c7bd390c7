#if canImport(ActivityKit) && !os(macOS) && !targetEnvironment(macCatalyst)
    import ActivityKit
    import Foundation
    import UIKit
    import WidgetKit

    @available(iOSApplicationExtension, unavailable)
    struct ActivityKitSystem: ActivitySystem {
        var areActivitiesEnabled: Bool { ActivityAuthorizationInfo().areActivitiesEnabled }

        var areFrequentPushesEnabled: Bool? {
            guard #available(iOS 16.2, *) else { return nil }
            return ActivityAuthorizationInfo().frequentPushesEnabled
        }

        func enablements() -> AsyncStream<Bool> {
            .subscribed(to: ActivityAuthorizationInfo().activityEnablementUpdates) { $0 }
        }

        func isProtectedDataAvailable() async -> Bool {
            await MainActor.run { UIApplication.shared.isProtectedDataAvailable }
        }

        /// UIKit posts these notifications on the main thread, and the blocks run there.
        func transitions() -> AsyncStream<AppTransition> {
            let (stream, continuation) = AsyncStream.makeStream(of: AppTransition.self)
            let transitions: [(Notification.Name, @Sendable () -> AppTransition)] = [
                (UIApplication.willEnterForegroundNotification, { .foreground }),
                (UIApplication.didBecomeActiveNotification, { .active }),
                (UIApplication.willResignActiveNotification, { .inactive }),
                (UIApplication.protectedDataDidBecomeAvailableNotification, { .unlock }),
                // The background task begins in the notification's block, before the system can suspend the app.
                (
                    UIApplication.didEnterBackgroundNotification,
                    { .background(MainActor.assumeIsolated { BackgroundTask().time }) }
                ),
            ]
            let center = NotificationCenter.default
            // Foundation does not declare the observers Sendable; they are only passed back.
            nonisolated(unsafe) let observers = transitions.map { name, transition in
                center.addObserver(forName: name, object: nil, queue: nil) { _ in continuation.yield(transition()) }
            }
            continuation.onTermination = { _ in for observer in observers { center.removeObserver(observer) } }
            return stream
        }

        func beginBackgroundTask() async -> BackgroundTime? {
            await MainActor.run { UIApplication.shared.applicationState == .background ? BackgroundTask().time : nil }
        }

        func widgetToken() async -> Data? {
            guard #available(iOS 26.0, *) else { return nil }
            return await WidgetCenter.shared.currentPushInfo?.token
        }
    }

    @available(iOSApplicationExtension, unavailable)
    @MainActor private final class BackgroundTask {
        private var identifier = UIBackgroundTaskIdentifier.invalid

        // iOS kills the app if the expiration handler returns before the task has ended.
        init() { identifier = UIApplication.shared.beginBackgroundTask { self.end() } }

        /// UIKit's time is unlimited in the foreground.
        var time: BackgroundTime {
            let left = Duration.seconds(min(UIApplication.shared.backgroundTimeRemaining, 3600))
            return ({ Task { @MainActor in self.end() } }, left)
        }

        private func end() {
            if identifier != .invalid { UIApplication.shared.endBackgroundTask(identifier) }
            identifier = .invalid
        }
    }

    struct ActivityKitActivity<Attributes: ActivityAttributes & SendableMetatype>: SystemActivity {
        // ActivityKit does not declare the class Sendable, but returns its objects to any thread, and nothing used here can be set.
        nonisolated(unsafe) let activity: Activity<Attributes>
        let aliases: [String: String]
        let startsAt: Date?

        var id: String { activity.id }
        var phase: ActivityPhase { ActivityPhase(activity.activityState) }
        var token: Data? { activity.pushToken }
        func tokens() -> AsyncStream<Data> { .subscribed(to: activity.pushTokenUpdates) { $0 } }

        func phases() -> AsyncStream<ActivityPhase> {
            .subscribed(to: activity.activityStateUpdates) { ActivityPhase($0) }
        }

        func end() async {
            guard #available(iOS 16.2, *) else { return await activity.end(using: nil, dismissalPolicy: .immediate) }
            await activity.end(nil, dismissalPolicy: .immediate)
        }
    }

    extension ActivityPhase {
        /// A state that a later iOS adds counts as running, because only an end may end an activity.
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

    struct ActivityKitType<Attributes: ActivityAttributes & SendableMetatype>: ActivityTypeAdapter {
        let pushType: FollowedPushType
        let endsDuplicates: Bool
        let startsAt: @Sendable (Attributes) -> Date?
        let aliases: @Sendable (Attributes) -> [String: String]

        var name: String { "\(Attributes.self)" }
        func activities() -> [any SystemActivity] { Activity<Attributes>.activities.map { wrapped($0) } }

        func newActivities() -> AsyncStream<any SystemActivity> {
            .subscribed(to: Activity<Attributes>.activityUpdates) { wrapped($0) }
        }

        func startToken() -> Data? {
            guard #available(iOS 17.2, *) else { return nil }
            return Activity<Attributes>.pushToStartToken
        }

        func startTokens() -> AsyncStream<Data> {
            guard #available(iOS 17.2, *) else { return AsyncStream { $0.finish() } }
            return .subscribed(to: Activity<Attributes>.pushToStartTokenUpdates) { $0 }
        }

        private func wrapped(_ activity: Activity<Attributes>) -> any SystemActivity {
            let attributes = activity.attributes
            return ActivityKitActivity(activity: activity, aliases: aliases(attributes), startsAt: startsAt(attributes))
        }
    }

    extension AsyncStream where Element: Sendable {
        /// A stream of another sequence's elements. The iterator is made before this returns, so that no element is
        /// missed.
        static func subscribed<Source: AsyncSequence>(
            to source: sending Source,
            _ transform: @escaping @Sendable (Source.Element) -> Element
        ) -> AsyncStream<Element> where Source.AsyncIterator: SendableMetatype {
            let (stream, continuation) = AsyncStream.makeStream(of: Element.self)
            let iterator = source.makeAsyncIterator()
            let task = Task {
                var iterator = iterator
                while let element = try? await iterator.next() { continuation.yield(transform(element)) }
                continuation.finish()
            }
            continuation.onTermination = { _ in task.cancel() }
            return stream
        }
    }
#endif
