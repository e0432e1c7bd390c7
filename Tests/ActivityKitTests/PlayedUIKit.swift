import Foundation
import UIKit

/// UIKit as the tests play it: a file of its own, for Swift Testing looks for an overlay where both are imported.
enum PlayedUIKit {
    static func setProtectedData(available: Bool) async {
        await MainActor.run { UIApplication.shared.isProtectedDataAvailable = available }
    }

    static func comesToForeground() {
        NotificationCenter.default.post(name: UIApplication.willEnterForegroundNotification, object: nil)
    }
}
