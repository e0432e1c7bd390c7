import Foundation

/// Apple's push service for the app's tokens. A token does not contain it.
public enum APNSEnvironment: String, Sendable, Hashable, Codable, CaseIterable {
    /// Builds that are signed for development, and the Simulator.
    case sandbox
    /// TestFlight, the App Store, and builds that are signed for distribution.
    case production

    /// Decides by the platform and the provisioning profile, in this order (C16).
    ///
    /// An app from TestFlight or the App Store has no provisioning profile, so none means production.
    ///
    /// - Parameter profile: the bytes of `embedded.mobileprovision`: a property list within a signed message, as plain text.
    static func detected(isSimulator: Bool, profile: Data?) -> APNSEnvironment {
        let text = String(decoding: profile ?? Data(), as: UTF8.self)
        let isDevelopment = text.contains(#/<key>aps-environment</key>\s*<string>development</string>/#)
        return isSimulator || isDevelopment ? .sandbox : .production
    }

    static let ofThisApp: APNSEnvironment = {
        #if targetEnvironment(simulator)
            let isSimulator = true
        #else
            let isSimulator = false
        #endif
        let profile = Bundle.main.url(forResource: "embedded", withExtension: "mobileprovision")
        return detected(isSimulator: isSimulator, profile: profile.flatMap { try? Data(contentsOf: $0) })
    }()
}
