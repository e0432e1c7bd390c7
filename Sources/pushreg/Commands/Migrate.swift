import ArgumentParser
import RegistryCore
import RegistryStore

struct Migrate: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Migrates the schema of the database, or shows its state.",
        subcommands: [Apply.self, Status.self],
        defaultSubcommand: Apply.self
    )

    struct Apply: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Applies the pending migrations, each in a transaction of its own."
        )

        @Flag(help: "Prints the SQL of the pending migrations and changes nothing.") var dryRun = false
        @Flag(
            help: """
                Distributes the tables over the workers of the Citus coordinator. All rows of an app are on one worker. \
                Run it again to complete a distribution.
                """
        )
        var distribute = false
        @Flag(help: "Prints a line of JSON for each migration.") var json = false
        @OptionGroup(title: "Database") var database: DatabaseOptions

        func run() async throws {
            if dryRun, distribute {
                throw CommandFailure(.usage, "A dry run prints no distribution. Leave out --distribute.")
            }
            try await database.withDatabase(dryRun ? .look : .leave) { database in
                if dryRun {
                    for migration in try await database.migrator.status().pending { try show(migration, withSQL: true) }
                } else {
                    try await apply(database.migrator)
                }
            }
        }

        private func apply(_ migrator: SchemaMigrator) async throws {
            let applied = try await migrator.migrate(
                distributes: distribute,
                onApplied: { Output.errors.note("Applied migration \($0.version), \($0.name).") },
                onDistributed: { Output.errors.note("Distributed the table \($0).") }
            )
            if applied.isEmpty { Output.errors.note("The schema is up to date.") }
            if json { for migration in applied { try show(migration, withSQL: false) } }
        }

        private func show(_ migration: Migration, withSQL: Bool) throws {
            guard json else {
                return try Output.results.line("-- Migration \(migration.version), \(migration.name)\n\(migration.sql)")
            }
            var members: JSONObject = ["version": .integer(Int64(migration.version)), "name": .string(migration.name)]
            if withSQL { members["sql"] = .string(migration.sql) }
            try Output.results.line(members.jsonLine)
        }
    }

    struct Status: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Shows applied and pending migrations, and changes nothing."
        )

        @Flag(help: "Prints one JSON object.") var json = false
        @OptionGroup(title: "Database") var database: DatabaseOptions

        func run() async throws { try await database.withDatabase(.look) { try show(await $0.migrator.status()) } }

        private func show(_ status: SchemaStatus) throws {
            guard !json else {
                let pending = status.pending.map { JSONValue.integer(Int64($0.version)) }
                let members: JSONObject = ["version": .integer(Int64(status.version)), "pending": .array(pending)]
                return try Output.results.line(members.jsonLine)
            }
            let applied = status.applied.map { ["\($0.version)", $0.name, RFC3339.format($0.appliedAt)] }
            let pending = status.pending.map { ["\($0.version)", $0.name, "pending"] }
            try Output.results.table(["Version", "Name", "Applied"], applied + pending)
        }
    }
}
