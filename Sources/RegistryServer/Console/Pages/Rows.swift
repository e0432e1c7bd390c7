import Foundation
import RegistryCore
import RegistryStore

extension TokenAvailability {
    /// `good`, `over` or `bad`.
    var tone: String {
        switch self {
        case .handedOut, .channel, .noPush: "good"
        case .ended, .loggedOut, .expired, .dismissed, .deleted: "over"
        case .noToken, .takenOver, .kindConflict, .unregistered, .quarantined, .purged: "bad"
        }
    }

    var label: String {
        self == .handedOut ? "handed out" : rawValue.replacingOccurrences(of: "-", with: " ")
    }
}

extension TokenFacts {
    var explanation: String { availability == .handedOut ? "Senders get it." : sentence }
}

extension TemplateContext {
    static func row(_ activity: AliasExplanation.Activity, _ link: ConsoleLink, _ now: Date) -> TemplateContext {
        [
            "activityId": .text(activity.activityID.rawValue.string),
            "activityPath": .text(link.activity(activity.activityID.rawValue)),
            "availability": .text(activity.facts.availability.label), "tone": .text(activity.facts.availability.tone),
            "why": .text(activity.facts.explanation),
            "fingerprint": .optional(activity.fingerprint.map(Hexadecimal.encode)),
            "attributesType": .optional(activity.attributesType),
            "installation": .optional(activity.installation.map(DisplayText.short)),
            "installationPath": .optional(activity.installation.map(link.installation)),
            "started": .row(.moment(activity.startedAt, now)),
            "confirmed": .optional(.moment(activity.confirmedAt, now)),
            "expires": .row(.moment(activity.expiresAt, now)),
            "delivered": .optional(.moment(activity.deliveredAt, now)),
        ]
    }

    static func row(_ token: AliasExplanation.Token, _ link: ConsoleLink, _ now: Date) -> TemplateContext {
        [
            "kind": .text(token.kind), "attributesType": .optional(token.attributesType),
            "installation": .text(DisplayText.short(token.installation)),
            "installationPath": .text(link.installation(token.installation)),
            "availability": .text(token.facts.availability.label), "tone": .text(token.facts.availability.tone),
            "why": .text(token.facts.explanation),
            "fingerprint": .optional(token.fingerprint.map(Hexadecimal.encode)),
            "confirmed": .optional(.moment(token.confirmedAt, now)),
        ]
    }
}

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
