import Foundation
import HTTPTypes
import Logging
import RegistryCore
import RegistryStore

struct Console: Sendable {
    let configuration: ServerConfiguration
    let startedAt = Date()
    let sweeps: SweepJournal
    /// Nil if people sign in with keys only.
    let provider: IdentityProvider?
    let logger: Logger
    /// The nonce of form tokens without a sign-in.
    let insecureNonce = ConsoleSession.makeNonce()

    init(configuration: ServerConfiguration, sweeps: SweepJournal, clock: ServiceClock, logger: Logger) {
        self.configuration = configuration
        self.logger = logger
        self.sweeps = sweeps
        provider = configuration.signIn.map { IdentityProvider($0, clock: clock, logger: logger) }
    }

    /// Whether the browser uses TLS, to the service or to a trusted proxy.
    func isSecure(_ fields: HTTPFields, from peer: IPAddress?) -> Bool {
        if configuration.tls != nil { return true }
        let addresses = ClientAddress(trustedProxies: configuration.trustedProxies)
        guard let peer, addresses.isTrusted(peer) else { return false }
        // A trusted proxy uses TLS unless its field contradicts.
        return fields[HTTPField.Name("X-Forwarded-Proto")!].map { $0.lowercased() == "https" } ?? true
    }
}

struct ConsoleCall: Sendable {
    let call: Call
    let console: Console
    let visit: ConsoleVisit
    /// Nil for pages that are not about an app.
    let namedScope: Scope?
    let form: Query

    var registry: Registry { call.registry }
    var principal: Principal { call.principal }
    var now: Date { call.parts.clock.date() }

    var scope: Scope {
        get throws(Problem) {
            guard let namedScope else { throw Problem.unknownApp }
            return namedScope
        }
    }

    var link: ConsoleLink { get throws(Problem) { ConsoleLink(try scope) } }

    /// Nil if empty.
    func parameter(_ name: String) -> String? { call.query[name].last.flatMap { $0.isEmpty ? nil : $0 } }

    /// Nil if empty.
    func field(_ name: String) -> String? { form[name].last.flatMap { $0.isEmpty ? nil : $0 } }
    var mayChange: Bool { Access.adminCalls.allows(principal) }
    var isRoot: Bool { principal.role == .root }
}

struct ConsoleVisit: Sendable {
    var principal = Principal.anonymous
    /// The roles of a person, each in an app. A key has none.
    var grants: [SignInSettings.Rule] = []
    var session: ConsoleSession?
    /// The digest that signs the session's next cookie.
    var digest: [UInt8] = []
    let isSecure: Bool
    /// Nil for anonymous callers.
    let formToken: String?

    /// - Throws: `forbidden` for a form from another session.
    func check(_ form: Query) throws(Problem) {
        guard let formToken, let given = form[FormToken.field].last, ConstantTime.areEqual(given, formToken) else {
            throw Problem(.forbidden, "The form is not from this session. Open the page again and repeat it there.")
        }
    }
}
