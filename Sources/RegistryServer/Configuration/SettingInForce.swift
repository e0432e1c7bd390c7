/// A setting of the service, as it may be shown.
package struct SettingInForce: Sendable, Hashable {
    /// The key of the setting in the config file, camelCase.
    package let name: String
    /// With `***` in place of each secret; nil when it is not set.
    package let value: String?
    /// Where it came from: a flag, the environment, a file, or the default.
    package let origin: String
    /// Whether it says where the database is, which is nothing for those who look after one app.
    package let isAboutDatabase: Bool

    /// Makes a setting of its parts; it is not about the database unless said so.
    package init(name: String, value: String?, origin: String, isAboutDatabase: Bool = false) {
        self.name = name
        self.value = value
        self.origin = origin
        self.isAboutDatabase = isAboutDatabase
    }
}
