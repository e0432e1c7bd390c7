import Foundation
import PushTokenRegistryTestSupport
import Testing

@testable import PushTokenRegistry

/// C16: the app's choice, then the Simulator, the provisioning profile, and production.
@Suite struct EnvironmentTests {
    /// A profile as codesign makes it: a property list within a signed message, with a certificate of all byte values.
    private static func profile(_ environment: String?) -> Data {
        let entitlement = environment.map { "<key>aps-environment</key>\n\t\t<string>\($0)</string>" } ?? ""
        let list = """
            <plist version="1.0"><dict>
            <key>Entitlements</key><dict>
            \(entitlement)
            </dict>
            <key>aps-environment</key><string>production</string>
            </dict></plist>
            """
        return Data([0x30, 0x80, 0x24, 0x80, 0x04]) + Data(list.utf8) + Data(0...255) + Data("<plist>".utf8)
    }

    @Test(arguments: [("development", APNSEnvironment.sandbox), ("production", .production)])
    func `The profile's entitlement decides the environment`(entitlement: String, environment: APNSEnvironment) {
        let profile = Self.profile(entitlement)
        #expect(APNSEnvironment.detected(isSimulator: false, profile: profile) == environment)
    }

    @Test func `A profile that is unreadable or lacks the entitlement means production`() {
        let profiles = [
            Self.profile(nil), Self.profile("staging"), Data(), Data("<plist>".utf8), Data("</plist><plist>".utf8),
        ]
        for profile in profiles {
            #expect(APNSEnvironment.detected(isSimulator: false, profile: profile) == .production)
        }
    }

    @Test func `A missing profile means production, as from the App Store and TestFlight`() {
        #expect(APNSEnvironment.detected(isSimulator: false, profile: nil) == .production)
        #expect(APNSEnvironment.ofThisApp == .production)
    }

    @Test func `The developer's choice overrides the Simulator, and the Simulator overrides the profile`() {
        let profile = Self.profile("production")
        #expect(APNSEnvironment.detected(isSimulator: true, profile: profile) == .sandbox)
        var configuration = LiveActivityRegistry.Configuration.test()
        for environment in APNSEnvironment.allCases {
            configuration.environment = environment
            #expect(configuration.reportedEnvironment == environment)
        }
    }
}
