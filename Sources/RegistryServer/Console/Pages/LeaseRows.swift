import Foundation
import RegistryCore
import RegistryStore

extension ExplainedLease.State {
    /// `good`, `over` or `bad`.
    var tone: String {
        switch self {
        case .live, .registered: "good"
        case .released: "over"
        case .failed, .expired: "bad"
        }
    }
}

extension TemplateContext {
    static func row(_ lease: ExplainedLease, _ link: ConsoleLink, _ now: Date) -> TemplateContext {
        [
            "aliasText": .text(lease.alias.description), "aliasHref": .text(link.alias(lease.alias)),
            "attributesType": .text(lease.attributesType.string), "tone": .text(lease.state.tone),
            "state": .text(lease.state.rawValue), "why": .text(lease.sentence),
            "taken": .row(.moment(lease.leasedAt, now)), "until": .row(.moment(lease.leasedUntil, now)),
            "installation": .text(DisplayText.short(lease.installation)),
            "installationPath": .text(link.installation(lease.installation)),
        ]
    }
}
