import Foundation

/// The provisioning profile of an app: a property list inside a signed message (CMS). The signature is not checked here: iOS did.
enum ProvisioningProfile {
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

    /// From the first `<?xml` or `<plist` to the last `</plist>`: the message holds it in one piece.
    private static func list(in data: Data) -> Data? {
        guard let start = data.range(of: Data("<?xml".utf8)) ?? data.range(of: Data("<plist".utf8)),
            let end = data.range(of: Data("</plist>".utf8), options: .backwards), start.lowerBound < end.upperBound
        else { return nil }
        return data[start.lowerBound..<end.upperBound]
    }
}
