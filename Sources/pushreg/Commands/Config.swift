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

        func run() async throws {
            let sources = try SettingSources(flags: database.flags.merging(service.flags) { $1 })
            var table = Table("Setting", "Value", "From", "Flag", "Variable")
            for setting in Setting.all {
                let found = try sources.find(setting)
                let value = found?.shownValue ?? ""
                let origin = found.map { $0.origin.word } ?? "not set"
                table.append(setting.key, value, origin, setting.flag, setting.variable)
                if json {
                    try Output.results.line(
                        JSONObject([
                            ("setting", .string(setting.key)), ("value", found == nil ? .null : .string(value)),
                            ("from", .string(origin)),
                        ]).jsonLine
                    )
                }
            }
            if !json { try table.print() }
        }
    }
}

extension FoundSetting {
    /// The value as it may be shown.
    fileprivate var shownValue: String {
        switch content {
        case .string(let text): setting.isSecret ? ConnectionStringMask.masked(text) : text
        case .int(let number): "\(number)"
        case .bool(let isTrue): "\(isTrue)"
        default: ""
        }
    }
}
