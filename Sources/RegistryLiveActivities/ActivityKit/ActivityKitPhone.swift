#if canImport(ActivityKit) && !os(macOS) && !targetEnvironment(macCatalyst)
    import ActivityKit
    import Foundation
    import UIKit

    /// The phone that the app runs on.
    struct ActivityKitPhone: Phone {
        var areActivitiesEnabled: Bool { ActivityAuthorizationInfo().areActivitiesEnabled }

        var areFrequentPushesEnabled: Bool? {
            guard #available(iOS 16.2, *) else { return nil }
            return ActivityAuthorizationInfo().frequentPushesEnabled
        }

        func enablements() -> AsyncStream<Bool> {
            .subscribed(to: ActivityAuthorizationInfo().activityEnablementUpdates) { $0 }
        }

        func isProtectedDataAvailable() async -> Bool { await Self.isUnlocked() }

        @MainActor private static func isUnlocked() -> Bool { UIApplication.shared.isProtectedDataAvailable }

        func moments() -> AsyncStream<PhoneMoment> {
            let (stream, continuation) = AsyncStream.makeStream(of: PhoneMoment.self)
            let moments: [(Notification.Name, PhoneMoment)] = [
                (UIApplication.willEnterForegroundNotification, .foreground),
                (UIApplication.protectedDataDidBecomeAvailableNotification, .unlock),
                (UIApplication.didEnterBackgroundNotification, .background),
            ]
            for (name, moment) in moments {
                // The client is kept as long as the app runs, and so is this.
                _ = NotificationCenter.default.addObserver(forName: name, object: nil, queue: nil) { _ in
                    continuation.yield(moment)
                }
            }
            return stream
        }

        func isInBackground() async -> Bool {
            await MainActor.run { UIApplication.shared.applicationState == .background }
        }

        func stayAwake(_ body: @Sendable () async -> Void) async {
            let task = await BackgroundTask()
            await body()
            await task.end()
        }
    }

    /// Some seconds more in the background. iOS kills an app that lets them pass, so it ends with them.
    @MainActor private final class BackgroundTask {
        private var identifier = UIBackgroundTaskIdentifier.invalid

        init() { identifier = UIApplication.shared.beginBackgroundTask { [weak self] in self?.end() } }

        func end() {
            UIApplication.shared.endBackgroundTask(identifier)
            identifier = .invalid
        }
    }
#endif
