import ArgumentParser
import RegistryCore
import RegistryServer
import RegistryStore

/// `pushreg doctor`: what is wrong with this installation.
struct Doctor: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Says what is wrong with this installation, and what to do about it.",
        discussion: """
            It looks at the settings in force and at Postgres, and changes nothing. Give it the settings that serve has. \
            It exits with 0 when nothing is wrong, with 69 or 77 when Postgres cannot be asked, else with 1.
            """
    )

    @Flag(help: "Prints a line of JSON for each finding: {\"code\", \"detail\", \"remedy\"}.") var json = false
    @OptionGroup(title: "Database") var database: DatabaseOptions
    @OptionGroup(title: "Service") var service: ServiceOptions

    func run() async throws {
        let sources = try SettingSources(database, service)
        let settings = try ServiceSettings(sources)
        var database = try DatabaseSettings(sources)
        // The database is only examined.
        database.allowsUnsafeDurability = true
        var (findings, status) = (settings.findings, CommandFailure.Status.failed)
        do {
            findings += try await database.withDatabase(.look) { try await Self.examine($0, settings) }
        } catch {
            let failure = try Self.unavailability(error)
            findings.append(Finding(.postgresUnavailable, failure.sentence, remedy: Self.remedy(failure.status)))
            status = failure.status
        }
        try show(findings)
        guard findings.isEmpty else {
            let count = findings.count == 1 ? "One thing is" : "\(findings.count) things are"
            throw CommandFailure(status, "\(count) wrong with this installation.")
        }
        Output.errors.note("Nothing is wrong with this installation.")
    }

    private func show(_ findings: [Finding]) throws {
        for finding in findings {
            try Output.results.line(json ? finding.jsonLine : "\(finding.detail) \(finding.remedy)")
        }
    }
}

extension Doctor {
    private static func examine(_ database: Database, _ settings: ServiceSettings) async throws -> [Finding] {
        // First, because its errors name the cause if Postgres does not answer.
        let schema = try await schemaFinding(database.migrator)
        let condition = try await database.registry.databaseCondition()
        var findings = condition.findings
        if let schema { return findings + [schema] }
        // Apps on an unreachable worker cannot be examined, nor any with plans that Citus cannot make.
        let codes = Set(findings.map(\.code))
        guard codes.isDisjoint(with: [.workerUnreachable, .planCacheMode]) else { return findings }
        let interval = settings.server.sweepInterval
        for app in try await database.registry.apps() {
            for environment in APNSEnvironment.allCases {
                let scope = Scope(app: app, environment: environment)
                findings += try await database.registry.findings(in: scope, sweepInterval: interval)
            }
        }
        return try await findings + database.registry.allKeys().compactMap { Finding($0) }
    }

    private static func schemaFinding(_ migrator: SchemaMigrator) async throws -> Finding? {
        do {
            try await migrator.checkCompatible()
            return nil
        } catch let error as SchemaError {
            return Finding(error)
        }
    }

    /// - Throws: the error itself unless Postgres is absent or rejects the login.
    private static func unavailability(_ error: any Error) throws -> CommandFailure {
        guard let failure = CommandFailure(cause: error), [.unavailable, .notPermitted].contains(failure.status) else {
            throw error
        }
        return failure
    }

    private static func remedy(_ status: CommandFailure.Status) -> String {
        status == .notPermitted
            ? "Give a user that Postgres lets in and that owns the registry's tables."
            : "Start it, or name the right one: pushreg config print shows which database is in force."
    }
}

extension ServiceSettings {
    /// The problems of the settings in force.
    fileprivate var findings: [Finding] {
        guard isInTheClear else { return [] }
        return [
            Finding(
                .noTLS,
                "Others reach the address \(server.host), and there is no TLS: keys and tokens travel readably.",
                remedy: "Give --tls-cert and --tls-key, or name the proxies that end TLS with --trusted-proxies."
            )
        ]
    }
}
