/// The place of the installation id: the keychain of this device, or a test's own.
public protocol SecretStore: Sendable {
    /// Reads the secret.
    func read() -> StoredSecret
    /// Keeps a secret for good.
    ///
    /// - Returns: the secret that is kept now: another one if another process was faster; nil when it could not be kept.
    func keep(_ secret: String) -> String?
}

/// The state of a secret's place.
public enum StoredSecret: Sendable, Hashable {
    /// None was ever kept.
    case none
    /// It cannot be read now: before the first unlock of the phone.
    case locked
    /// The secret.
    case secret(String)
}

extension InstallationID {
    /// The id of this install, made if there is none; nil while the place is locked, for a second one would be another
    /// installation (C17).
    package static func current(in store: some SecretStore, random: () -> UInt64) -> InstallationID? {
        switch store.read() {
        case .secret(let text): InstallationID(text)
        case .locked: nil
        case .none: store.keep(InstallationID(random: random).text).map { InstallationID($0) }
        }
    }
}
