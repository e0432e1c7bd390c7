import ArgumentParser
import Configuration
import RegistryCore

/// `pushreg config print`: what is in force.
struct Config: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Shows the settings in force.",
        subcommands: [Print.self]
    )

    /// `pushreg config print`.
    struct Print: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Prints each setting, its value and where it came from; passwords are masked."
        )

        @Flag(help: "Prints a line of JSON for each setting.") var json = false
        @OptionGroup(title: "Database") var database: DatabaseOptions
        @OptionGroup(title: "Service") var service: ServiceOptions

        /// - Throws: a ``CommandFailure`` after printing, too, when the service would refuse what is in force.
        func run() async throws {
            let sources = try SettingSources(flags: database.flags.merging(service.flags) { $1 })
            let rows = try Self.rows(sources)
            if json {
                for row in rows { try Output.results.line(row.jsonLine) }
            } else {
                var table = Table("Setting", "Value", "From", "Flag", "Variable")
                for row in rows { table.append(row.name, row.text, row.fromText, row.flag, row.variable) }
                try table.print()
            }
            _ = try DatabaseSettings.planCacheMode(sources)
            _ = try ServiceSettings(sources)
        }

        /// The database that is in force, and then each setting.
        private static func rows(_ sources: SettingSources) throws(CommandFailure) -> [ConfigRow] {
            let chosen = try DatabaseSettings.choice(sources)
            var rows = [ConfigRow(database: chosen)]
            for setting in Setting.all {
                var row = ConfigRow(setting, try sources.find(setting))
                let namesDatabase = setting == .embedded || setting == .databaseUrl
                if namesDatabase, let chosen, chosen.setting != setting { row.winner = chosen }
                rows.append(row)
            }
            return rows
        }
    }
}

/// One setting, as `config print` shows it.
private struct ConfigRow {
    let name: String
    let flag: String
    let variable: String
    let found: FoundSetting?
    /// The stronger setting that takes this one's place.
    var winner: FoundSetting?

    init(_ setting: Setting, _ found: FoundSetting?) {
        (name, flag, variable) = (setting.key, setting.flag, setting.variable)
        self.found = found
    }

    /// The stronger of the settings that name a database, under a name of its own.
    init(database chosen: FoundSetting?) {
        name = "database"
        (flag, variable) = chosen.map { ($0.setting.flag, $0.setting.variable) } ?? ("", "")
        found = chosen
    }

    private var from: String { found?.origin.word ?? "not set" }

    /// Whether the row's value is left out of account.
    private var isBeaten: Bool { found != nil && winner != nil }

    var fromText: String {
        guard isBeaten, let winner else { return found?.origin.text ?? from }
        return "\(from), but \(winner.givenName) wins"
    }

    var text: String {
        switch value {
        case .string(let text): text
        case .null: ""
        default: value.jsonLine
        }
    }

    /// The value as it may be shown.
    private var value: JSONValue {
        switch found?.content {
        case .string(let text): .string(found?.setting.isSecret == true ? ConnectionStringMask.masked(text) : text)
        case .int(let number): .integer(Int64(number))
        case .bool(let isTrue): .bool(isTrue)
        default: .null
        }
    }

    var jsonLine: String {
        var members: [(String, JSONValue)] = [
            ("setting", .string(name)), ("value", value), ("from", .string(from)),
        ]
        if name == "database", let found { members.append(("as", .string(found.setting.key))) }
        if isBeaten, let winner { members.append(("beatenBy", .string(winner.setting.key))) }
        return JSONObject(members).jsonLine
    }
}

extension SettingOrigin {
    /// The words for people.
    fileprivate var text: String {
        guard case .file(let path) = self else { return word }
        return "file \(path)"
    }
}
