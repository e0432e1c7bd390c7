import Foundation
import HTTPTypes
import Logging
import RegistryCore
import RegistryStore

struct Console: Sendable {
    let settings: [SettingInForce]
    let version: String
    let startedAt = Date()
    let sweeps: SweepJournal
    let sweepInterval: Duration
    let recent = RecentCounts()
    let issuers: IssuerJournal
    /// Nil if people sign in with keys only.
    let provider: IdentityProvider?
    let logger: Logger
    private let servesTLS: Bool
    private let addresses: ClientAddress
    /// The nonce of form tokens without a sign-in.
    let insecureNonce = ConsoleSession.makeNonce()

    init(configuration: ServerConfiguration, sweeps: SweepJournal, clock: ServiceClock, logger: Logger) {
        self.logger = logger
        provider = configuration.signIn.map { IdentityProvider($0, clock: clock, logger: logger) }
        settings = configuration.settingsInForce
        version = configuration.version
        issuers = configuration.issuers
        servesTLS = configuration.tls != nil
        addresses = ClientAddress(trustedProxies: configuration.trustedProxies)
        self.sweeps = sweeps
        sweepInterval = configuration.sweepInterval
    }

    /// Whether the browser uses TLS, to the service or to a trusted proxy.
    func isSecure(_ fields: HTTPFields, from peer: IPAddress?) -> Bool {
        if servesTLS { return true }
        guard let peer, addresses.isTrusted(peer) else { return false }
        // A trusted proxy uses TLS unless its field contradicts.
        return fields[.forwardedProtocol].map { $0.lowercased() == "https" } ?? true
    }
}

extension HTTPField.Name {
    fileprivate static let forwardedProtocol = HTTPField.Name("X-Forwarded-Proto")!
}
