import Foundation
import PostgresDriver
import RegistryCore
import RegistryServer

/// The strongest source is first.
enum SettingOrigin: Sendable, Comparable {
    case flag, environment
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
        case .file(let path): "\"\(setting.rawValue)\" in \(path)"
        case .fallback: "the default of \(setting.flag)"
        }
    }

    var text: String? { value.string }

    /// The value with passwords masked.
    var shown: JSONValue {
        if setting == .oidcClientSecret || Self.isPEM(text ?? "") { return "***" }
        guard setting == .databaseUrl else { return value }
        return .string(text.map(ConnectionString.masked) ?? "***")
    }

    /// The content of a file of keys or certificates instead of its path.
    static func isPEM(_ text: String) -> Bool { text.contains("-----BEGIN") }
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

    /// The value in force. It can be of the wrong kind.
    func find(_ setting: Setting) -> FoundSetting? {
        if let value = flags[setting] { return FoundSetting(setting: setting, value: value, origin: .flag) }
        // Hosting platforms pass the port in `PORT`.
        for variable in [setting.variable] + (setting == .port ? ["PORT"] : []) {
            guard let text = environment[variable] else { continue }
            let value = setting.value(of: text)
            return FoundSetting(setting: setting, value: value, origin: .environment, variable: variable)
        }
        if let file, let value = file.values[setting]?.trimmed {
            return FoundSetting(setting: setting, value: value, origin: .file(path: file.path))
        }
        return setting.fallback.map { FoundSetting(setting: setting, value: $0, origin: .fallback) }
    }

    private static func cause(of text: String, in variable: String) -> String? {
        if FoundSetting.isPEM(text) { return "It is the content of a file. Give the file's path." }
        if let first = text.first, text.count > 1, first == text.last, "\"'".contains(first) {
            return "Its value is in quotation marks. Remove them; docker --env-file keeps them as part of a value."
        }
        if text.hasPrefix("#") || Int(text.prefix { $0 != " " }) != nil, text.contains("#") {
            return
                "Its value contains a comment. Give the comment a line of its own; docker --env-file keeps it as part of a value."
        }
        if text.wholeMatch(of: /\$[A-Z_]+|\$[{(].*[})]|%[A-Z_]+%/) != nil {
            return "It refers to another variable, and nothing replaced the reference by a value."
        }
        guard text.hasPrefix("tcp://"), variable.hasSuffix("_PORT") else { return nil }
        let service = variable.dropLast("_PORT".count).lowercased().replacing("_", with: "-")
        return """
            Kubernetes sets it for a Service named \(service). Set enableServiceLinks: false in the pod's spec, or rename the \
            Service.
            """
    }

    /// The value in force, converted by `make`. Errors of `make` get the name of the source as their subject.
    func read<Value>(
        _ setting: Setting,
        _ make: (JSONValue) throws(JSONFaultReason) -> Value
    ) throws(CommandFailure) -> Value? {
        guard let found = find(setting) else { return nil }
        if let cause = found.text.flatMap({ Self.cause(of: $0, in: found.givenName) }) {
            throw CommandFailure(.usage, "\(found.givenName) is not valid. \(cause)")
        }
        do throws(JSONFaultReason) {
            return try make(found.value)
        } catch { throw CommandFailure(.usage, "\(found.givenName) \(error.detail).") }
    }

    func isTrue(_ setting: Setting) throws(CommandFailure) -> Bool { try read(setting, Bool.read) ?? false }

    func text(_ setting: Setting) throws(CommandFailure) -> String? {
        try read(setting) { value throws(JSONFaultReason) in
            guard value != "" else { throw JSONFaultReason("must not be empty") }
            return try String.read(value)
        }
    }

    /// For the console, with passwords masked.
    var inForce: [SettingInForce] {
        Setting.all.map { setting in
            let found = find(setting)
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

/// A JSON object with the keys of ``Setting/all``.
struct ConfigurationFile: Sendable {
    let path: String
    let values: [Setting: JSONValue]

    /// A `null` member counts as absent.
    ///
    /// - Throws: A ``CommandFailure`` if the file is not a readable JSON object, or has an unknown key, because a
    ///   misspelt setting must not silently become its default.
    init(_ path: String) throws(CommandFailure) {
        var values: [Setting: JSONValue] = [:]
        for (key, value) in try Self.object(path) where value != .null {
            guard let setting = Setting.all.first(where: { $0.rawValue == key }) else {
                let known = Setting.all.map(\.rawValue).joined(separator: ", ")
                throw CommandFailure(
                    .usage,
                    "The config file \(path) has the unknown key \"\(key)\". Known keys: \(known)."
                )
            }
            values[setting] = value
        }
        (self.path, self.values) = (path, values)
    }

    private static func object(_ path: String) throws(CommandFailure) -> JSONObject {
        let text = try text(path)
        do throws(JSONSyntaxError) {
            if case .object(let object) = try JSONParser.parse(text) { return object }
        } catch {
            let line = 1 + text.utf8.prefix(error.offset).count { $0 == UInt8(ascii: "\n") }
            throw CommandFailure(.usage, "The config file \(path) is not JSON: line \(line): \(error.detail)")
        }
        throw CommandFailure(.usage, "The config file \(path) must be one JSON object.")
    }

    private static func text(_ name: String) throws(CommandFailure) -> String {
        let path = name == "-" ? "/dev/stdin" : name
        if name != "-", let file = UnreadableFile(path) {
            let status = file.code == EACCES ? CommandFailure.Status.notPermitted : .usage
            throw CommandFailure(status, "The config file \(name) cannot be read: \(file.reason).")
        }
        // String(contentsOfFile:) cannot read a pipe.
        let bytes = FileHandle(forReadingAtPath: path).flatMap { try? $0.readToEnd() } ?? Data()
        guard let text = String(data: bytes, encoding: .utf8) else {
            throw CommandFailure(.usage, "The config file \(name) is not UTF-8 text.")
        }
        return text.hasPrefix("\u{FEFF}") ? String(text.dropFirst()) : text
    }
}
