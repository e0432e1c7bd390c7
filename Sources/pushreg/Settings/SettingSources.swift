import Configuration
import Foundation

/// Where a value came from, the strongest first.
enum SettingOrigin: Sendable, Hashable {
    case flag
    case environment
    case file(path: String)
    case fallback

    /// The word in JSON.
    var word: String {
        switch self {
        case .flag: "flag"
        case .environment: "environment"
        case .file: "file"
        case .fallback: "default"
        }
    }
}

/// A value and where it came from.
struct FoundSetting: Sendable {
    let setting: Setting
    let content: ConfigContent
    let origin: SettingOrigin

    /// The name that the value was given under, for sentences: `--port`, `PUSHREG_PORT` or `"port" in /etc/…`.
    var givenName: String { setting.name(in: origin) }
}

extension Setting {
    /// The setting's name where `origin` gives it.
    func name(in origin: SettingOrigin) -> String {
        switch origin {
        case .flag: flag
        case .environment: variable
        case .file(let path): "\"\(key)\" in \(path)"
        case .fallback: "the default of \(flag)"
        }
    }
}

/// All that says something about settings: flags, else the environment, else the config file, else defaults.
struct SettingSources: Sendable {
    private struct Layer: Sendable {
        let origin: SettingOrigin
        let provider: any ConfigProvider
    }

    private let layers: [Layer]

    /// Reads the environment of this program and the config file that `--config` or `PUSHREG_CONFIG` names.
    ///
    /// - Throws: a ``CommandFailure`` when there is no such file, or it is not what a config file must be.
    init(
        flags: [Setting: ConfigContent],
        environment: [String: String] = ProcessInfo.processInfo.environment
    ) throws(CommandFailure) {
        // A variable that is set to nothing counts as not set: container tools cannot leave one out.
        let environment = environment.filter { !$0.value.isEmpty }
        var layers = [
            Layer(origin: .flag, provider: Self.memory("flags", flags)),
            Layer(origin: .environment, provider: Self.variables(environment)),
        ]
        if let path = try Self.find(.config, in: layers)?.text {
            layers.append(
                Layer(origin: .file(path: path), provider: Self.memory("file", try ConfigurationFile.read(path)))
            )
        }
        let fallbacks = Setting.all.compactMap { setting in setting.fallback.map { (setting, $0) } }
        let defaults = Self.memory("defaults", Dictionary(uniqueKeysWithValues: fallbacks))
        self.layers = layers + [Layer(origin: .fallback, provider: defaults)]
    }

    /// The value in force, or nil when nobody gave one.
    ///
    /// - Throws: a ``CommandFailure`` when the strongest value is of the wrong kind: a weaker one must not hide that.
    func find(_ setting: Setting) throws(CommandFailure) -> FoundSetting? {
        try Self.find(setting, in: layers)
    }

    /// The text in force, or nil when nobody gave one.
    ///
    /// - Throws: a ``CommandFailure`` when it is empty, as from a variable of the shell that is not set.
    func nonEmptyText(_ setting: Setting) throws(CommandFailure) -> String? {
        guard let found = try find(setting), let text = found.text else { return nil }
        guard !text.isEmpty else { throw CommandFailure(.usage, "\(found.givenName) must not be empty.") }
        return text
    }

    private static func find(_ setting: Setting, in layers: [Layer]) throws(CommandFailure) -> FoundSetting? {
        let key = AbsoluteConfigKey([setting.key])
        for layer in layers {
            let found: ConfigValue?
            do {
                found = try layer.provider.value(forKey: key, type: setting.type).value
            } catch {
                let name = setting.name(in: layer.origin)
                throw CommandFailure(.usage, "\(name) must be \(setting.type.requirement).")
            }
            if let found { return FoundSetting(setting: setting, content: found.content, origin: layer.origin) }
        }
        return nil
    }
}

// The providers are asked one by one, not through a ConfigReader: that takes a value of the wrong kind for none.
extension SettingSources {
    private static func memory(_ name: String, _ contents: [Setting: ConfigContent]) -> InMemoryProvider {
        let values = contents.map { (AbsoluteConfigKey([$0.key]), ConfigValue($1, isSecret: $0.isSecret)) }
        return InMemoryProvider(name: name, values: Dictionary(uniqueKeysWithValues: values))
    }

    private static func variables(_ environment: [String: String]) -> some ConfigProvider {
        let secrets = Set(Setting.all.filter(\.isSecret).map(\.variable))
        return EnvironmentVariablesProvider(environmentVariables: environment, secretsSpecifier: .specific(secrets))
            .mapKeys { $0.components == [Setting.databaseUrl.key] ? $0 : $0.prepending("pushreg") }
    }
}

extension ConfigType {
    /// The requirement for a value of the type, for sentences.
    var requirement: String {
        switch self {
        case .int: "a whole number"
        case .bool: "true or false"
        default: "text"
        }
    }
}

extension FoundSetting {
    /// The content, where it is text.
    var text: String? {
        guard case .string(let text) = content else { return nil }
        return text
    }

    /// The content, where it is a number.
    var number: Int? {
        guard case .int(let number) = content else { return nil }
        return number
    }

    /// Whether the content is true.
    var isTrue: Bool { content == .bool(true) }
}
