import ArgumentParser
import RegistryCore

struct Config: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Shows the settings in force.", subcommands: [Print.self])

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
            let database = try DatabaseSettings.choice(sources)
            let rows = Setting.all.map { setting in
                let found = sources.find(setting)
                let isOverridden = setting.namesDatabase && found != nil && setting != database?.setting
                return ConfigRow(setting: setting, found: found, winner: isOverridden ? database : nil)
            }
            try Output.results.list(rows, asJSON: json, ["Setting", "Value", "From", "Flag", "Variable"]) { row in
                let setting = row.setting
                return [setting.rawValue, row.found?.shownText ?? "", row.fromText, setting.flag, setting.variable]
            }
            if database != nil { _ = try DatabaseSettings(sources) }
            _ = try ServiceSettings(sources)
        }
    }
}

private struct ConfigRow: JSONObjectEncodable {
    let setting: Setting
    let found: FoundSetting?
    /// The database setting with higher precedence that overrides this setting.
    let winner: FoundSetting?

    private var from: String { found?.origin.word ?? "not set" }

    var fromText: String {
        if let winner { return "\(from), overridden by \(winner.givenName)" }
        guard case .file(let path) = found?.origin else { return from }
        return "file \(path)"
    }

    func writeMembers(to json: inout JSONWriter) {
        json.member("setting", setting.rawValue)
        json.member("value", found?.shown)
        json.member("from", from)
        json.member("beatenBy", ifPresent: winner?.setting.rawValue)
    }
}
