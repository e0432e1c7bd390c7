// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// Apple documents these names.

import Foundation

/// The part of `UIApplication` that the client uses, for tests on Linux, after Apple's documentation.
@MainActor public final class UIApplication {
    public static let shared = UIApplication()

    public nonisolated static let willEnterForegroundNotification = Notification.Name(
        "UIApplicationWillEnterForegroundNotification"
    )
    public nonisolated static let didBecomeActiveNotification = Notification.Name(
        "UIApplicationDidBecomeActiveNotification"
    )
    public nonisolated static let willResignActiveNotification = Notification.Name(
        "UIApplicationWillResignActiveNotification"
    )
    public nonisolated static let protectedDataDidBecomeAvailableNotification = Notification.Name(
        "UIApplicationProtectedDataDidBecomeAvailable"
    )
    public nonisolated static let didEnterBackgroundNotification = Notification.Name(
        "UIApplicationDidEnterBackgroundNotification"
    )

    public enum State: Int, Sendable { case active, inactive, background }

    /// Set by tests.
    public var applicationState = State.active

    /// Set by tests.
    public var isProtectedDataAvailable = true
    public let backgroundTimeRemaining = TimeInterval.greatestFiniteMagnitude

    /// Called with the number of background tasks after each change; set by tests.
    public var backgroundTasksChanged: (@MainActor (Int) -> Void)?
    private var backgroundTasks: [Int: @MainActor @Sendable () -> Void] = [:]
    private var lastBackgroundTask = 0

    public func beginBackgroundTask(
        expirationHandler handler: (@MainActor @Sendable () -> Void)? = nil
    ) -> UIBackgroundTaskIdentifier {
        lastBackgroundTask += 1
        backgroundTasks[lastBackgroundTask] = handler ?? {}
        backgroundTasksChanged?(backgroundTasks.count)
        return UIBackgroundTaskIdentifier(rawValue: lastBackgroundTask)
    }

    /// Like UIKit, ignores a task that has ended or never begun.
    public func endBackgroundTask(_ identifier: UIBackgroundTaskIdentifier) {
        guard backgroundTasks.removeValue(forKey: identifier.rawValue) != nil else { return }
        backgroundTasksChanged?(backgroundTasks.count)
    }

    public func expireBackgroundTasks() {
        for handler in backgroundTasks.values { handler() }
        isKilled = !backgroundTasks.isEmpty
    }

    /// iOS kills an app with a background task that has not ended when its expiration handler returns.
    public private(set) var isKilled = false
}

public struct UIBackgroundTaskIdentifier: RawRepresentable, Hashable, Sendable {
    public static let invalid = UIBackgroundTaskIdentifier(rawValue: 0)

    public let rawValue: Int

    public init(rawValue: Int) { self.rawValue = rawValue }
}
