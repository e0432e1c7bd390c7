package enum Role: String, Sendable, Hashable, CaseIterable {
    /// An app or its backend. It registers tokens and never reads one.
    case client
    /// A service that sends to APNs.
    case sender
    /// Reads an app's settings and records. Tokens are masked.
    case auditor
    /// All rights in one app, except to create or delete it.
    case admin
    /// All rights in all apps.
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
