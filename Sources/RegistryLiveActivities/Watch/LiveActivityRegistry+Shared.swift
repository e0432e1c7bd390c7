import Foundation
import RegistryClient

extension LiveActivityRegistry {
    /// The client that the keys `PushTokenRegistryURL` and `PushTokenRegistryKey` of the app's Info.plist describe; nil
    /// without them.
    ///
    /// It is there before any code of React Native or Flutter runs, so a plugin's native part can start it at launch:
    ///
    /// ```swift
    /// LiveActivityRegistry.shared?.follow(RideAttributes.self) { ["liveactivityId": $0.rideID] }
    /// LiveActivityRegistry.shared?.start()
    /// ```
    public static let shared = described(by: Bundle.main.infoDictionary ?? [:])

    static func described(by infoDictionary: [String: Any]) -> LiveActivityRegistry? {
        Configuration(infoDictionary: infoDictionary).map { LiveActivityRegistry($0) }
    }
}
