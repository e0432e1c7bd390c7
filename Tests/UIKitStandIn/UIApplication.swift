// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// The names are Apple's, and so is their documentation.

import Foundation

/// As much of UIKit's application as the client uses, for tests on Linux. Apple's documentation is its model.
@MainActor public final class UIApplication {
    public static let shared = UIApplication()

    public nonisolated static let willEnterForegroundNotification = Notification.Name(
        "UIApplicationWillEnterForegroundNotification"
    )
    public nonisolated static let protectedDataDidBecomeAvailableNotification = Notification.Name(
        "UIApplicationProtectedDataDidBecomeAvailable"
    )

    /// Set by tests.
    public var isProtectedDataAvailable = true
}
