import Foundation

/// Apple's push service for the app's tokens. A token does not contain it.
public enum APNSEnvironment: String, Sendable, Hashable, Codable, CaseIterable {
    /// Builds that are signed for development, and the Simulator.
    case sandbox
    /// TestFlight, the App Store, and builds that are signed for distribution.
    case production

    /// Decides by the developer's choice, the platform and the provisioning profile, in this order (C16).
    ///
    /// An app from TestFlight or the App Store has no provisioning profile, so none means production.
    ///
    /// - Parameter profile: the bytes of `embedded.mobileprovision`, if the app has it.
    package static func detected(chosen: APNSEnvironment?, isSimulator: Bool, profile: Data?) -> APNSEnvironment {
        if let chosen { return chosen }
        if isSimulator { return .sandbox }
        return profile.flatMap(ProvisioningProfile.environment) ?? .production
    }

    package static func ofThisApp(chosen: APNSEnvironment?) -> APNSEnvironment {
        #if targetEnvironment(simulator)
            let isSimulator = true
        #else
            let isSimulator = false
        #endif
        let profile = Bundle.main.url(forResource: "embedded", withExtension: "mobileprovision")
        return detected(
            chosen: chosen,
            isSimulator: isSimulator,
            profile: profile.flatMap { try? Data(contentsOf: $0) }
        )
    }
}

/// The provisioning profile of an app: a property list inside a signed message (CMS). iOS has checked its signature.
private enum ProvisioningProfile {
    /// The environment that its entitlement `aps-environment` names; nil when it has none.
    static func environment(_ profile: Data) -> APNSEnvironment? {
        guard let bytes = list(in: profile),
            let list = try? PropertyListSerialization.propertyList(from: bytes, format: nil) as? [String: Any],
            let entitlements = list["Entitlements"] as? [String: Any]
        else { return nil }
        switch entitlements["aps-environment"] as? String {
        case "development": return .sandbox
        case "production": return .production
        default: return nil
        }
    }

    /// From the first `<?xml` or `<plist` to the last `</plist>`: the message contains it in one piece.
    private static func list(in data: Data) -> Data? {
        guard let start = data.range(of: Data("<?xml".utf8)) ?? data.range(of: Data("<plist".utf8)),
            let end = data.range(of: Data("</plist>".utf8), options: .backwards), start.lowerBound < end.upperBound
        else { return nil }
        return data[start.lowerBound..<end.upperBound]
    }
}
