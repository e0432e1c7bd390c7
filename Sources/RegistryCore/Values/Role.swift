package enum Role: String, Sendable, Hashable, CaseIterable {
    /// An app, or an app's backend for it: registers, and never reads a token.
    case client
    /// A service that talks to APNs.
    case sender
    /// Reads an app's settings and records, tokens masked.
    case auditor
    /// Does everything in one app, but neither makes nor deletes it.
    case admin
    /// Does everything in all apps.
    case root
    package static let ofApps: [Role] = [.client, .sender, .auditor, .admin]

    package var keyPrefix: String {
        switch self {
        case .client: "prc_"
        case .sender: "prs_"
        case .auditor: "pru_"
        case .admin: "pra_"
        case .root: "prr_"
        }
    }
}
