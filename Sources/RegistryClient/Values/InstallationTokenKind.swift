/// A kind of token that an installation has one of.
public enum InstallationTokenKind: String, Sendable, Hashable, Codable, CaseIterable {
    /// The token of ordinary notifications.
    case device
    /// The token of the app's widgets (iOS 26).
    case widget
}
