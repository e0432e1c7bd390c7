import Foundation
import UIKit

/// UIKit in tests. A separate file, because Swift Testing looks for an overlay where both modules are imported.
enum PlayedUIKit {
    static func setProtectedData(available: Bool) async {
        await MainActor.run { UIApplication.shared.isProtectedDataAvailable = available }
    }

    /// Returns once a background task has begun and ended.
    static func enterBackground(isExpired: Bool = false) async {
        await withCheckedContinuation { continuation in
            Task { @MainActor in
                var hasBegun = false
                UIApplication.shared.backgroundTasksChanged = { count in
                    if hasBegun, count == 0 {
                        UIApplication.shared.backgroundTasksChanged = nil
                        continuation.resume()
                    }
                    if !hasBegun, isExpired { Task { UIApplication.shared.expireBackgroundTasks() } }
                    hasBegun = true
                }
                NotificationCenter.default.post(name: UIApplication.didEnterBackgroundNotification, object: nil)
            }
        }
    }

    static func setBackground(_ isInBackground: Bool) async {
        await MainActor.run { UIApplication.shared.applicationState = isInBackground ? .background : .active }
    }

    static func enterForeground() {
        NotificationCenter.default.post(name: UIApplication.willEnterForegroundNotification, object: nil)
    }

    static func isKilled() async -> Bool { await MainActor.run { UIApplication.shared.isKilled } }
}
