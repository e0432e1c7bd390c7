import Foundation

#if canImport(os)
    import os
#endif

/// Returns the JWT of a signed-in user, or nil without one. An error counts as nil and is logged.
public typealias CredentialSource = @Sendable () async throws -> String?

extension LiveActivityRegistry {
    /// The settings of a client.
    ///
    /// ```swift
    /// var configuration = LiveActivityRegistry.Configuration(service: url, key: "prc_…")
    /// configuration.environment = .sandbox
    /// let registry = LiveActivityRegistry(configuration)
    /// ```
    public struct Configuration: Sendable {
        /// The address of the registry, such as `https://push.example.com`.
        public var service: URL
        /// The app's publishable key, `prc_…`.
        public var key: String
        /// The app's bundle id. The default is the running app's.
        public var bundleID: String
        /// The push service that the tokens belong to. With nil the client finds it out; see ``APNSEnvironment``.
        public var environment: APNSEnvironment?
        /// Whether a log-out ends the activities on the screen.
        public var endsActivitiesOnSignOut = true
        /// Whether the client works in previews and hosted tests.
        public var runsInTests = false
        /// Whether the client writes to the unified log, subsystem `push-token-registry`. Tokens appear as fingerprints only.
        public var isLogging = true

        package var transport = HTTPTransport.urlSession
        package var storage: any StateStorage = FileStorage()
        package var installationIDs: any InstallationIDStore = Keychain()
        package var clock: any ClientClock = SystemClock()
        package var metadata = Self.currentMetadata
        package var variables = ProcessInfo.processInfo.environment
        package var writeLog: @Sendable (LogLevel, String) -> Void = LogLevel.unifiedLog

        /// Creates settings with defaults for all but the address and the key.
        public init(service: URL, key: String) {
            (self.service, self.key) = (service, key)
            bundleID = Bundle.main.bundleIdentifier ?? ""
        }

        /// Reads the keys `PushTokenRegistryURL` and `PushTokenRegistryKey` of an Info.plist; nil without them.
        public init?(infoDictionary: [String: Any]) {
            guard let key = infoDictionary["PushTokenRegistryKey"] as? String,
                let service = (infoDictionary["PushTokenRegistryURL"] as? String).flatMap(URL.init(string:))
            else { return nil }
            self.init(service: service, key: key)
        }

        /// The developer's choice, otherwise the app's own (C16).
        var reportedEnvironment: APNSEnvironment { environment ?? .ofThisApp }

        /// A preview or a hosted test would register a simulator with the real service.
        var isSuppressed: Bool {
            guard !runsInTests else { return false }
            return variables["XCODE_RUNNING_FOR_PREVIEWS"] == "1" || variables["XCTestConfigurationFilePath"] != nil
        }

        func log(_ level: LogLevel, _ text: String) { if isLogging { writeLog(level, text) } }

        /// `push-token-registry-client/1.0.0 (iOS 26.1; com.example.food)`
        var userAgent: String { "push-token-registry-client/\(Self.version) (iOS \(Self.osVersion); \(bundleID))" }

        static let version = "1.0.0"

        private static var osVersion: String {
            let version = ProcessInfo.processInfo.operatingSystemVersion
            return "\(version.majorVersion).\(version.minorVersion)"
        }

        private static var currentMetadata: [String: String] {
            var metadata = ["osVersion": osVersion, "locale": Locale.current.identifier]
            metadata["appVersion"] = Bundle.main.infoDictionary?["CFBundleShortVersionString"] as? String
            return metadata
        }
    }
}

package enum LogLevel: Sendable {
    case info, error

    static let unifiedLog: @Sendable (LogLevel, String) -> Void = { level, text in
        #if canImport(os)
            let logger = Logger(subsystem: "push-token-registry", category: "client")
            logger.log(level: level == .error ? .error : .info, "\(text, privacy: .public)")
        #endif
    }
}
