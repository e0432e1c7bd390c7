import RegistryCore
import RegistryRules
import RegistryStore

extension TokenFacts: Presentable {
    static var computed: Properties {
        ["tone": \.availability.tone, "label": \.availability.label, "sentence": \.sentence]
    }
}

extension TokenAvailability {
    /// `good`, `over` or `bad`.
    fileprivate var tone: String {
        switch self {
        case .handedOut, .channel, .noPush: "good"
        case .ended, .loggedOut, .expired, .dismissed, .deleted: "over"
        case .noToken, .takenOver, .kindConflict, .unregistered, .quarantined, .purged: "bad"
        }
    }

    fileprivate var label: String { rawValue.replacing("-", with: " ") }
}

extension ExplainedLease: Presentable {
    static var computed: Properties {
        [
            "tone": \.state.tone, "sentence": \.sentence, "alias": \.lease.alias,
            "attributesType": \.lease.attributesType,
            "leasedAt": \.lease.leasedAt.date, "leasedUntil": \.lease.leasedUntil.date,
            "installation": \.lease.installation,
        ]
    }
}

extension Lease.State {
    /// `good`, `over` or `bad`.
    fileprivate var tone: String {
        switch self {
        case .live, .registered: "good"
        case .released: "over"
        case .failed, .expired: "bad"
        }
    }
}

extension InstallationHash: Presentable {
    static var computed: Properties { ["short": \.short] }

    /// Enough digits for people to distinguish installations.
    var short: String { String(description.prefix(12)) }
}
