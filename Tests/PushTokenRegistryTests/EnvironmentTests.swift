import Foundation
import PushTokenRegistryTestSupport
import Testing

@testable import PushTokenRegistry

/// C16: the app's choice, then the Simulator, the provisioning profile, and production.
@Suite struct EnvironmentTests {
    private static func list(_ environment: String?) -> String {
        let entitlement = environment.map { "<key>aps-environment</key>\n\t\t<string>\($0)</string>" } ?? ""
        return """
            <?xml version="1.0" encoding="UTF-8"?>
            <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
            <plist version="1.0"><dict>
            <key>AppIDName</key><string>Food</string>
            <key>DeveloperCertificates</key><array><data>MIIB</data></array>
            <key>Entitlements</key><dict>
            <key>application-identifier</key><string>TEAM.com.example.food</string>
            \(environment == nil ? "" : entitlement)
            </dict>
            <key>aps-environment</key><string>production</string>
            </dict></plist>
            """
    }

    /// A profile as codesign makes it: a header, the property list, and a certificate with all byte values.
    private static func profile(_ environment: String?) -> Data {
        let content = Data(list(environment).utf8)
        let length = [UInt8(0x82), UInt8(content.count >> 8), UInt8(content.count & 255)]
        return Data([0x30, 0x80, 0x24, 0x80, 0x04] + length) + content + Data(0...255) + Data("<plist>".utf8)
    }

    @Test(arguments: [("development", APNSEnvironment.sandbox), ("production", .production)])
    func `The profile's entitlement decides the environment`(entitlement: String, environment: APNSEnvironment) {
        let profile = Self.profile(entitlement)
        #expect(APNSEnvironment.detected(chosen: nil, isSimulator: false, profile: profile) == environment)
    }

    @Test func `A profile that is unreadable or lacks the entitlement means production`() {
        let profiles = [
            Self.profile(nil), Self.profile("staging"), Data(), Data("<plist>".utf8), Data("</plist><plist>".utf8),
        ]
        for profile in profiles {
            #expect(APNSEnvironment.detected(chosen: nil, isSimulator: false, profile: profile) == .production)
        }
    }

    @Test func `A missing profile means production, as from the App Store and TestFlight`() {
        #expect(APNSEnvironment.detected(chosen: nil, isSimulator: false, profile: nil) == .production)
        #expect(APNSEnvironment.ofThisApp(chosen: nil) == .production)
    }

    @Test func `The developer's choice overrides the Simulator, and the Simulator overrides the profile`() {
        let profile = Self.profile("production")
        #expect(APNSEnvironment.detected(chosen: nil, isSimulator: true, profile: profile) == .sandbox)
        #expect(APNSEnvironment.detected(chosen: .production, isSimulator: true, profile: nil) == .production)
        #expect(APNSEnvironment.detected(chosen: .sandbox, isSimulator: false, profile: profile) == .sandbox)
    }
}
