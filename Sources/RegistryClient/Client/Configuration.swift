import Foundation

extension LiveActivityRegistry {
    /// All that a client needs to know.
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
        /// The app's bundle id, by default that of the running app. An extension gives its app's.
        public var bundleID: String
        /// Which of Apple's push services the tokens belong to; nil finds it out (see ``APNSEnvironment``).
        public var environment: APNSEnvironment?
        /// The way to the registry.
        public var transport: any Transport = URLSessionTransport()
        /// The place of reports that wait.
        public var storage: any ReportStorage
        /// The place of the installation id.
        public var secrets: any SecretStore
        /// The clocks, and the only way to wait.
        package var clock: any ClientClock = SystemClock()
        /// Gives 64 random bits each time.
        package var random: @Sendable () -> UInt64 = { UInt64.random(in: .min ... .max) }

        /// Sets a client up with defaults for all but the address and the key.
        ///
        /// - Parameters:
        ///   - appGroup: the App Group of extensions that report activities too.
        ///   - keychainGroup: the keychain access group that they share.
        public init(service: URL, key: String, appGroup: String? = nil, keychainGroup: String? = nil) {
            (self.service, self.key) = (service, key)
            bundleID = Bundle.main.bundleIdentifier ?? ""
            storage = FileStorage(appGroup: appGroup)
            #if canImport(Security)
                secrets = Keychain(accessGroup: keychainGroup)
            #else
                secrets = NoKeychain()
            #endif
        }

        /// Reads the keys `PushTokenRegistryURL` and `PushTokenRegistryKey` of an Info.plist, for a start before any code of
        /// React Native or Flutter runs; nil where they are missing.
        public init?(infoDictionary: [String: Any]) {
            guard let key = infoDictionary["PushTokenRegistryKey"] as? String,
                let service = (infoDictionary["PushTokenRegistryURL"] as? String).flatMap(URL.init(string:))
            else { return nil }
            self.init(service: service, key: key)
        }
    }
}

#if !canImport(Security)
    /// No place for a secret: nothing is sent.
    private struct NoKeychain: SecretStore {
        func read() -> StoredSecret { .locked }
        func keep(_ secret: String) -> String? { nil }
    }
#endif
