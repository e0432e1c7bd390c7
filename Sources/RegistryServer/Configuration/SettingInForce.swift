package struct SettingInForce: Sendable, Hashable {
    /// The camelCase key of the config file.
    package let name: String
    /// With `***` in place of secrets. Nil if not set.
    package let value: String?
    /// A flag, the environment, a file, or the default.
    package let origin: String
    /// Only root may see the address of the database.
    package let isAboutDatabase: Bool

    package init(name: String, value: String?, origin: String, isAboutDatabase: Bool = false) {
        self.name = name
        self.value = value
        self.origin = origin
        self.isAboutDatabase = isAboutDatabase
    }
}
