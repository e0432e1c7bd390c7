import Foundation
import PostgresDriver
import RegistryCore
import RegistryServer

/// The strongest source is first.
enum SettingOrigin: Sendable, Comparable {
    case flag
    case environment
    case file(path: String)
    case fallback

    var word: String {
        switch self {
        case .flag: "flag"
        case .environment: "environment"
        case .file: "file"
        case .fallback: "default"
        }
    }
}

struct FoundSetting: Sendable {
    let setting: Setting
    let value: JSONValue
    let origin: SettingOrigin
    var variable: String?

    /// The name in messages: `--port`, `PUSHREG_PORT` or `"port" in /etc/…`.
    var givenName: String {
        switch origin {
        case .flag: setting.flag
        case .environment: variable ?? setting.variable
        case .file(let path): ConfigurationFile.name(of: setting, in: path)
        case .fallback: "the default of \(setting.flag)"
        }
    }

    var text: String? { value.string }
    var isTrue: Bool { value == .bool(true) }

    /// The value with passwords masked.
    var shown: JSONValue {
        if setting == .oidcClientSecret { return "***" }
        guard setting == .databaseUrl, let text else { return value }
        return .string(ConnectionString.masked(text))
    }

    var shownText: String { shown.string ?? shown.description }
}

/// Flags override the environment, which overrides the config file, which overrides the defaults.
struct SettingSources: Sendable {
    private let flags: [Setting: JSONValue]
    private let environment: [String: String]
    private var file: ConfigurationFile?

    init(
        flags: [Setting: JSONValue],
        environment: [String: String] = ProcessInfo.processInfo.environment
    ) throws(CommandFailure) {
        // Values from files often end with a newline.
        self.flags = flags.mapValues(\.trimmed)
        // An empty variable counts as not set, because container tools cannot omit one.
        self.environment = environment.mapValues { $0.trimmingCharacters(in: .whitespacesAndNewlines) }
            .filter { !$0.value.isEmpty }
        file = try find(.config)?.text.map(ConfigurationFile.init)
    }

    init(_ database: DatabaseOptions, _ service: ServiceOptions) throws(CommandFailure) {
        try self.init(flags: database.flags.merging(service.flags) { $1 })
    }

    /// The value in force. If the value with the highest precedence has the wrong kind, throws and does not use another
    /// value.
    func find(_ setting: Setting) throws(CommandFailure) -> FoundSetting? {
        if let value = flags[setting] { return FoundSetting(setting: setting, value: value, origin: .flag) }
        for variable in [setting.variable, setting.platformVariable].compactMap(\.self) {
            guard let text = environment[variable] else { continue }
            guard let value = setting.value(of: text) else {
                let cause = Self.cause(of: text, in: variable).map { " \($0)" } ?? ""
                throw CommandFailure(.usage, "\(variable) must be \(setting.kind.rawValue).\(cause)")
            }
            return FoundSetting(setting: setting, value: value, origin: .environment, variable: variable)
        }
        if let file, let value = file.values[setting]?.trimmed {
            return FoundSetting(setting: setting, value: value, origin: .file(path: file.path))
        }
        return setting.fallback.map { FoundSetting(setting: setting, value: $0, origin: .fallback) }
    }

    private static func cause(of text: String, in variable: String) -> String? {
        if let first = text.first, text.count > 1, first == text.last, "\"'".contains(first) {
            return "Its value is in quotation marks. Remove them; docker --env-file keeps them as part of a value."
        }
        if text.hasPrefix("#") || Int(text.prefix { $0 != " " }) != nil, text.contains("#") {
            return
                "Its value contains a comment. Give the comment a line of its own; docker --env-file keeps it as part of a value."
        }
        guard text.hasPrefix("tcp://"), variable.hasSuffix("_PORT") else { return nil }
        let service = variable.dropLast("_PORT".count).lowercased().replacing("_", with: "-")
        return """
            Kubernetes sets it for a Service named \(service). Set enableServiceLinks: false in the pod's spec, or rename the \
            Service.
            """
    }

    /// The value in force, converted by `make`. If `make` returns nil, the error has the source and `requirement`.
    func read<Value>(
        _ setting: Setting,
        _ requirement: String,
        _ make: (JSONValue) -> Value?
    ) throws(CommandFailure) -> Value? {
        guard let found = try find(setting) else { return nil }
        if let cause = found.text.flatMap({ Self.cause(of: $0, in: found.givenName) }) {
            throw CommandFailure(.usage, "\(found.givenName) is not valid. \(cause)")
        }
        guard let value = make(found.value) else {
            throw CommandFailure(.usage, "\(found.givenName) must \(requirement).")
        }
        return value
    }

    func isTrue(_ setting: Setting) throws(CommandFailure) -> Bool { try find(setting)?.isTrue ?? false }

    func text(_ setting: Setting) throws(CommandFailure) -> String? {
        try read(setting, "not be empty") { value in value.string.flatMap { $0.isEmpty ? nil : $0 } }
    }

    func number(_ setting: Setting, in range: ClosedRange<Int>) throws(CommandFailure) -> Int? {
        try read(setting, "be between \(range.lowerBound) and \(range.upperBound)") { value in
            guard case .integer(let number) = value, range.contains(Int(number)) else { return nil }
            return Int(number)
        }
    }

    func choice<Value: RawRepresentable<String> & CaseIterable>(_ setting: Setting) throws(CommandFailure) -> Value? {
        let words = Value.allCases.map(\.rawValue).joined(separator: ", ")
        return try read(setting, "be one of \(words)") { $0.string.flatMap(Value.init) }
    }

    /// For the console, with passwords masked.
    func inForce() throws(CommandFailure) -> [SettingInForce] {
        try Setting.all.map { setting throws(CommandFailure) in
            let found = try find(setting)
            return SettingInForce(
                name: setting.rawValue,
                value: found?.shownText,
                origin: found?.origin.word ?? "not set",
                isAboutDatabase: setting.namesDatabase
            )
        }
    }
}

extension JSONValue {
    fileprivate var trimmed: JSONValue {
        string.map { .string($0.trimmingCharacters(in: .whitespacesAndNewlines)) } ?? self
    }
}
