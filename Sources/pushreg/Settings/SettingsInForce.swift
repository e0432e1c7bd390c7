import Configuration
import RegistryServer

extension SettingSources {
    /// The settings in force, as the console may show them: passwords are masked.
    ///
    /// - Throws: a ``CommandFailure`` as ``find(_:)`` does.
    func inForce() throws(CommandFailure) -> [SettingInForce] {
        var settings: [SettingInForce] = []
        for setting in Setting.all {
            let found = try find(setting)
            settings.append(
                SettingInForce(
                    name: setting.key,
                    value: found.flatMap(\.shownText),
                    origin: found?.origin.word ?? "not set",
                    isAboutDatabase: setting == .embedded || setting == .databaseUrl
                )
            )
        }
        return settings
    }
}

extension FoundSetting {
    /// The value as text, passwords masked.
    fileprivate var shownText: String? {
        switch content {
        case .string(let text): setting.isSecret ? ConnectionStringMask.masked(text) : text
        case .int(let number): String(number)
        case .bool(let isTrue): String(isTrue)
        default: nil
        }
    }
}
