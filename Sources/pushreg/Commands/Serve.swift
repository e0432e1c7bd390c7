import ArgumentParser

struct Serve: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Runs the service until SIGTERM or SIGINT.",
        discussion: """
            Once it accepts requests it logs one line with its addresses to standard error: JSON, or words on a terminal. \
            SIGTERM and SIGINT let requests in flight finish, for at most 10 seconds, and the exit code is 0.

            An embedded database brings its schema up to date by itself. Any other whose schema is behind is refused with \
            exit code 69, unless --migrate is given; one whose schema is ahead always is.
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
