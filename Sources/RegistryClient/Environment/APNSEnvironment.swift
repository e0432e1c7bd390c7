import Foundation

/// Which of Apple's two push services the app's tokens belong to. A token does not say so itself.
public enum APNSEnvironment: String, Sendable, Hashable, Codable, CaseIterable {
    /// Builds that are signed for development, and the Simulator.
    case sandbox
    /// TestFlight, the App Store, and builds that are signed for distribution.
    case production

    /// Decides by all that is known of the running app (C16).
    ///
    /// An app from TestFlight or the App Store has no provisioning profile, so none means production.
    ///
    /// - Parameters:
    ///   - said: the developer's word, which holds before all.
    ///   - isSimulator: the Simulator's tokens are the sandbox's.
    ///   - profile: the bytes of `embedded.mobileprovision`, if the app has it.
    package static func detected(said: APNSEnvironment?, isSimulator: Bool, profile: Data?) -> APNSEnvironment {
        if let said { return said }
        if isSimulator { return .sandbox }
        return profile.flatMap(ProvisioningProfile.environment) ?? .production
    }

    /// The environment of the running app.
    package static func ofThisApp(said: APNSEnvironment?) -> APNSEnvironment {
        #if targetEnvironment(simulator)
            let isSimulator = true
        #else
            let isSimulator = false
        #endif
        let profile = Bundle.main.url(forResource: "embedded", withExtension: "mobileprovision")
        return detected(said: said, isSimulator: isSimulator, profile: profile.flatMap { try? Data(contentsOf: $0) })
    }
}
