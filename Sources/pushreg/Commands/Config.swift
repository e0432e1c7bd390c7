import ArgumentParser
import PostgresDriver
import RegistryCore

struct Config: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Shows the settings in force.",
        subcommands: [Print.self]
    )

    struct Print: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Prints each setting with its value and source. Passwords are masked."
        )

        @Flag(help: "Prints a line of JSON for each setting.") var json = false
        @OptionGroup(title: "Database") var database: DatabaseOptions
        @OptionGroup(title: "Service") var service: ServiceOptions

        /// - Throws: A ``CommandFailure``, after printing, if `serve` would reject the settings.
        func run() async throws {
            let sources = try SettingSources(database, service)
            let rows = try Self.rows(sources)
            try Output.results.list(rows, asJSON: json, ["Setting", "Value", "From", "Flag", "Variable"]) { row in
                [
                    row.name, row.found?.shownText ?? "", row.fromText, row.setting?.flag ?? "",
                    row.setting?.variable ?? "",
                ]
            }
            if try DatabaseSettings.choice(sources) != nil { _ = try DatabaseSettings(sources) }
            let _: PlanCacheMode? = try sources.choice(.planCacheMode)
            _ = try ServiceSettings(sources)
        }

        private static func rows(_ sources: SettingSources) throws(CommandFailure) -> [ConfigRow] {
            let chosen = try DatabaseSettings.choice(sources)
            let database = ConfigRow(name: "database", setting: chosen?.setting, found: chosen)
            return try [database]
                + Setting.all.map { setting throws(CommandFailure) in
                    let found = try sources.find(setting)
                    let isBeaten = setting.namesDatabase && found != nil && setting != chosen?.setting
                    return ConfigRow(
                        name: setting.rawValue,
                        setting: setting,
                        found: found,
                        winner: isBeaten ? chosen : nil
                    )
                }
        }
    }
}

private struct ConfigRow: JSONEncodable {
    let name: String
    let setting: Setting?
    let found: FoundSetting?
    /// The database setting with higher precedence that overrides this setting.
    var winner: FoundSetting?

    private var from: String { found?.origin.word ?? "not set" }

    var fromText: String {
        if let winner { return "\(from), overridden by \(winner.givenName)" }
        guard case .file(let path) = found?.origin else { return from }
        return "file \(path)"
    }

    func encode(to json: inout JSONWriter) {
        var row: JSONObject = ["setting": .string(name), "value": found?.shown ?? .null, "from": .string(from)]
        if let setting, setting.rawValue != name { row["as"] = .string(setting.rawValue) }
        row["beatenBy"] = winner.map { .string($0.setting.rawValue) }
        json.value(row)
    }
}
