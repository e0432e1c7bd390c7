import ArgumentParser
import Logging
import RegistryCore
import RegistryServer
import RegistryStore

struct Doctor: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Finds faults in this installation, with their remedies.",
        discussion: """
            It checks the settings, Postgres, the jwksUrl of each app and the identity provider of the console, and changes \
            nothing. It finds every fault that stops serve, except a port in use. Give it the settings of serve. \
            The exit code is 0 without findings, 69 or 77 if Postgres cannot be read, and 1 otherwise.
            """
    )

    @Flag(help: "Prints a line of JSON for each finding: {\"code\", \"detail\", \"remedy\"}.") var json = false
    @OptionGroup(title: "Database") var database: DatabaseOptions
    @OptionGroup(title: "Service") var service: ServiceOptions

    func run() async throws {
        let sources = try SettingSources(database, service)
        let settings = try ServiceSettings(sources)
        var database = try DatabaseSettings(sources)
        // `doctor` only reads.
        database.allowsUnsafeDurability = true
        var (findings, status) = ([Finding](), CommandFailure.Status.failed)
        if settings.isInTheClear {
            let host = settings.server.host
            let detail = "Other machines reach the address \(host) without TLS, so keys and tokens are not encrypted."
            let remedy = "Give --tls-cert and --tls-key, or list the proxies that end TLS in --trusted-proxies."
            findings.append(Finding(.noTLS, detail, remedy: remedy))
        }
        do throws(CommandFailure) {
            _ = try settings.tlsIdentity(.lines(style: .text, level: .critical))
        } catch {
            findings.append(Finding(.tlsFiles, error.sentence, remedy: "Give a readable certificate and its key."))
        }
        if let failure = await settings.listeningFailure() {
            findings.append(Finding(.listenAddress, failure.sentence, remedy: "See --host, --port and --admin-port."))
        }
        if let signIn = settings.server.signIn { findings += [await .aboutSignIn(signIn)].compactMap(\.self) }
        do {
            try await database.withDatabase(.look) { try await Self.examine($0, settings, &findings) }
        } catch let error where SharedSessions.caused(error) {
            findings.append(Finding(SharedSessions()))
        } catch {
            guard let failure = CommandFailure(cause: error), [.unavailable, .notPermitted].contains(failure.status)
            else { throw error }
            findings.append(Finding(.postgresUnavailable, failure.sentence, remedy: Self.remedy(failure.status)))
            status = failure.status
        }
        for finding in findings {
            try Output.results.line(json ? finding.jsonLine : "\(finding.detail) \(finding.remedy)")
        }
        guard findings.isEmpty else {
            let count = findings.count == 1 ? "One thing is" : "\(findings.count) things are"
            throw CommandFailure(status, "\(count) wrong with this installation.")
        }
        Output.errors.note("Nothing is wrong with this installation.")
    }

    /// If a query fails, earlier findings stay.
    private static func examine(
        _ database: Database,
        _ settings: ServiceSettings,
        _ findings: inout [Finding]
    ) async throws {
        findings += try await database.findings()
        // With one of these findings, queries about apps would fail.
        let codes = Set(findings.map(\.code))
        let hindrances: Set = [
            Finding.Code.schemaBehind, .schemaAhead, .schemaChanged, .databaseEncoding, .transactionPooler,
            .workerUnreachable,
        ]
        guard codes.isDisjoint(with: hindrances) else { return }
        let interval = settings.server.sweepInterval
        for app in try await database.registry.apps() {
            let allowsInternal = settings.server.allowsInternalJWKS
            findings += [await Finding.aboutKeys(of: app, allowsInternal: allowsInternal)].compactMap(\.self)
            for environment in APNSEnvironment.allCases {
                let scope = Scope(app: app, environment: environment)
                findings += try await database.registry.findings(in: scope, sweepInterval: interval)
            }
        }
        findings += try await database.registry.keys(of: nil).compactMap { Finding($0) }
    }

    private static func remedy(_ status: CommandFailure.Status) -> String {
        status == .notPermitted
            ? "Use a Postgres user that may connect and that owns the registry's tables."
            : """
            Start it, correct its address, which pushreg config print shows, or end what keeps it busy, which \
            pg_stat_activity shows.
            """
    }
}
