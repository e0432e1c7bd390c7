import Foundation
import HTTPTypes
import RegistryCore
import RegistryStore

/// What the pages of the console share, on one instance.
struct Console: Sendable {
    /// What is in force, as the program says it.
    let settings: [SettingInForce]
    let version: String
    let startedAt = Date()
    let sweeps: SweepJournal
    let sweepInterval: Duration
    let recent = RecentCounts()
    private let servesTLS: Bool
    private let addresses: ClientAddress
    /// What forms are made of where nobody signs in.
    let insecureNonce = ConsoleSession.makeNonce()

    init(configuration: ServerConfiguration, sweeps: SweepJournal) {
        settings = configuration.settingsInForce
        version = configuration.version
        servesTLS = configuration.tls != nil
        addresses = ClientAddress(trustedProxies: configuration.trustedProxies)
        self.sweeps = sweeps
        sweepInterval = configuration.sweepInterval
    }

    /// Whether the browser speaks TLS, to us or to a proxy of ours.
    func isSecure(_ fields: HTTPFields, from peer: IPAddress?) -> Bool {
        if servesTLS { return true }
        guard let peer, addresses.isTrusted(peer) else { return false }
        // Whoever names a proxy has it end TLS, unless it says otherwise.
        return fields[HTTPField.Name("X-Forwarded-Proto")!].map { $0.lowercased() == "https" } ?? true
    }

    /// Whether a path, as the request has it, is the console's.
    static func owns(_ path: String?) -> Bool {
        guard let path else { return false }
        return path == ConsoleLink.home || path.hasPrefix(ConsoleLink.home + "/")
            || path.hasPrefix(ConsoleLink.home + "?")
    }
}

/// A setting of the service, as it may be shown.
public struct SettingInForce: Sendable, Hashable {
    public let name: String
    /// With `***` in place of each secret; nil when it is not set.
    public let value: String?
    /// Where it came from: a flag, the environment, a file, or the default.
    public let origin: String
    /// Whether it says where the database is, which is nothing for those who look after one app.
    public let isAboutDatabase: Bool

    public init(name: String, value: String?, origin: String, isAboutDatabase: Bool = false) {
        self.name = name
        self.value = value
        self.origin = origin
        self.isAboutDatabase = isAboutDatabase
    }
}
