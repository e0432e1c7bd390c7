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
            ]
            for (name, moment) in moments {
                // The client is kept as long as the app runs, and so is this.
                _ = NotificationCenter.default.addObserver(forName: name, object: nil, queue: nil) { _ in
                    continuation.yield(moment)
                }
            }
            return stream
        }
    }
#endif
