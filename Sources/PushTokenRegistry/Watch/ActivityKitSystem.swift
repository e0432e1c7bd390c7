#if canImport(ActivityKit) && !os(macOS) && !targetEnvironment(macCatalyst)
    import ActivityKit
    import Foundation
    import UIKit
    import WidgetKit

    /// ActivityKit, UIKit and WidgetKit of this phone.
    @available(iOSApplicationExtension, unavailable)
    final class ActivityKitSystem: ActivitySystem {
        /// Foundation does not declare the token Sendable; it is only passed back.
        private struct Observer: @unchecked Sendable { let token: any NSObjectProtocol }
        private let observers = LockedValue<[Observer]>([])

        deinit {
            for observer in observers.withLock({ $0 }) { NotificationCenter.default.removeObserver(observer.token) }
        }

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

        func transitions() -> AsyncStream<AppTransition> {
            let (stream, continuation) = AsyncStream.makeStream(of: AppTransition.self)
            observe(UIApplication.willEnterForegroundNotification) { continuation.yield(.foreground) }
            observe(UIApplication.didBecomeActiveNotification) { continuation.yield(.active) }
            observe(UIApplication.willResignActiveNotification) { continuation.yield(.inactive) }
            observe(UIApplication.protectedDataDidBecomeAvailableNotification) { continuation.yield(.unlock) }
            // The background task begins in the notification's block, before the system can suspend the app.
            observe(UIApplication.didEnterBackgroundNotification) {
                continuation.yield(.background(MainActor.assumeIsolated { Self.newBackgroundTask() }))
            }
            return stream
        }

        /// UIKit posts these notifications on the main thread, and the block runs there.
        private func observe(_ name: Notification.Name, _ body: @escaping @Sendable () -> Void) {
            let token = NotificationCenter.default.addObserver(forName: name, object: nil, queue: nil) { _ in body() }
            let observer = Observer(token: token)
            observers.withLock { $0.append(observer) }
        }

        func isInBackground() async -> Bool {
            await MainActor.run { UIApplication.shared.applicationState == .background }
        }

        func beginBackgroundTask() async -> BackgroundTask { await Self.newBackgroundTask() }

        @MainActor private static func newBackgroundTask() -> BackgroundTask {
            let identifier = LockedValue(UIBackgroundTaskIdentifier.invalid)
            let end: @MainActor @Sendable () -> Void = {
                let begun = identifier.withLock { identifier in
                    defer { identifier = .invalid }
                    return identifier
                }
                if begun != .invalid { UIApplication.shared.endBackgroundTask(begun) }
            }
            // iOS kills the app if the expiration handler returns before the task has ended.
            let begun = UIApplication.shared.beginBackgroundTask { end() }
            identifier.withLock { $0 = begun }
            return BackgroundTask { Task { @MainActor in end() } }
        }

        func widgetToken() async -> Data? {
            guard #available(iOS 26.0, *) else { return nil }
            return await WidgetCenter.shared.currentPushInfo?.token
        }
    }

    /// An activity of ActivityKit.
    struct ActivityKitActivity<Attributes: ActivityAttributes & SendableMetatype>: SystemActivity {
        // ActivityKit does not declare the class Sendable, but returns its objects to any thread, and nothing used here can be set.
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

    extension ActivityTypeAdapter {
        init<Attributes: ActivityAttributes & SendableMetatype>(
            _ type: Attributes.Type,
            startsAt: @escaping @Sendable (Attributes) -> Date?,
            aliases: @escaping @Sendable (Attributes) -> [String: String]
        ) {
            let wrapped: @Sendable (Activity<Attributes>) -> any SystemActivity = { activity in
                ActivityKitActivity(activity, aliases(activity.attributes), startsAt(activity.attributes))
            }
            self.init(
                name: "\(type)",
                activities: { Activity<Attributes>.activities.map(wrapped) },
                newActivities: { .subscribed(to: Activity<Attributes>.activityUpdates, wrapped) },
                startToken: {
                    guard #available(iOS 17.2, *) else { return nil }
                    return Activity<Attributes>.pushToStartToken
                },
                startTokens: {
                    guard #available(iOS 17.2, *) else { return AsyncStream { $0.finish() } }
                    return .subscribed(to: Activity<Attributes>.pushToStartTokenUpdates) { $0 }
                }
            )
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
