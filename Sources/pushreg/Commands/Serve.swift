import ArgumentParser

struct Serve: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Runs the service until SIGTERM or SIGINT.",
        discussion: """
            When it accepts requests, it logs a line with its addresses to standard error: JSON, or text on a terminal. \
            After SIGTERM or SIGINT, it completes requests in flight, for at most 10 seconds, and exits with 0.

            An embedded database is migrated automatically. For other databases, an old schema is an error with exit \
            code 69 unless --migrate is given. A newer schema than the program's is always an error.
            """
    )

    @OptionGroup(title: "Database") var database: DatabaseOptions
    @OptionGroup(title: "Service") var service: ServiceOptions

    func run() async throws {
        let sources = try SettingSources(database, service)
        let settings = try ServiceSettings(sources)
        try await RegistryService(database: DatabaseSettings(sources), settings: settings).runUntilSignal()
    }
}
