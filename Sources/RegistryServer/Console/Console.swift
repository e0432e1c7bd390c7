import Foundation
import HTTPTypes
import RegistryCore
import RegistryStore

/// The state that the pages of the console share, on one instance.
struct Console: Sendable {
    /// The settings in force, as the program states them.
    let settings: [SettingInForce]
    let version: String
    let startedAt = Date()
    let sweeps: SweepJournal
    let sweepInterval: Duration
    let recent = RecentCounts()
    private let servesTLS: Bool
    private let addresses: ClientAddress
    /// The nonce of form tokens where nobody signs in.
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
        // A trusted proxy ends TLS, unless it says otherwise.
        return fields[.forwardedProtocol].map { $0.lowercased() == "https" } ?? true
    }
}

extension HTTPField.Name {
    fileprivate static let forwardedProtocol = HTTPField.Name("X-Forwarded-Proto")!
}
