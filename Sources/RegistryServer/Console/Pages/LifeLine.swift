import Foundation
import RegistryCore
import RegistryStore

/// An activity's history in order: the audit trail and other stored facts.
struct LifeLine {
    private struct Entry {
        let time: Date
        let tone: String
        let title: String
        var detail: String?
        var who: String?
        var fingerprint: String?
    }

    /// Oldest first.
    let rows: [TemplateContext]

    init(_ life: ActivityLife, _ link: ConsoleLink, _ now: Date) {
        let entries = Self.events(life) + Self.states(life, now)
        rows = entries.sorted { $0.time < $1.time }.map { entry in
            [
                "entryTitle": .text(entry.title), "entryTone": .text(entry.tone),
                "entryDetail": .optional(entry.detail),
                "entryWho": .optional(entry.who), "entryFingerprint": .optional(entry.fingerprint),
                "at": .row(.moment(entry.time, now)), "isToCome": .flag(entry.time > now),
            ]
        }
    }

    private static func events(_ life: ActivityLife) -> [Entry] {
        life.events.map { event in
            let words = EventWords(event.type)
            return Entry(
                time: event.recordedAt,
                tone: words.tone,
                title: words.title,
                detail: detail(of: event, life) ?? words.detail,
                who: EventWords.who(event.who),
                fingerprint: event.fingerprint.map(Hexadecimal.encode)
            )
        }
    }

    /// The reason of the last report against the current token, which the audit trail lacks.
    private static func detail(of event: AuditEvent, _ life: ActivityLife) -> String? {
        let isLast =
            event == life.events.first { $0.type == event.type } && event.fingerprint == life.explanation.fingerprint
        guard isLast || event.type == "ended" else { return nil }
        return switch event.type {
        case "quarantined": life.quarantineReason.map { "A sender reported \($0) from APNs." }
        case "dropped": life.deadAt.map { "APNs reported the token as dead since \(DisplayText.clock($0)) UTC." }
        case "ended" where life.explanation.facts.endReason == "dismissed": "The user dismissed it."
        default: nil
        }
    }

    /// Facts without an event, or with another time than their event.
    private static func states(_ life: ActivityLife, _ now: Date) -> [Entry] {
        let explanation = life.explanation
        var entries = [
            Entry(
                time: explanation.startedAt,
                tone: "plain",
                title: "Started",
                detail: "The earliest start time that a caller gave."
            )
        ]
        func add(_ time: Date?, _ tone: String, _ title: String, _ detail: String) {
            if let time { entries.append(Entry(time: time, tone: tone, title: title, detail: detail)) }
        }
        add(explanation.startsAt, "plain", "Scheduled start", "Its lifetime is counted from then.")
        if let confirmedAt = explanation.confirmedAt, confirmedAt.timeIntervalSince(life.createdAt) > 1 {
            add(confirmedAt, "plain", "Last confirmed", "A client registered or refreshed its token.")
        }
        add(explanation.deliveredAt, "good", "Last push delivered", "APNs accepted a push to its token.")
        if let fullStateAt = life.fullStateAt, let observedAt = life.lastObservedAt, fullStateAt > observedAt {
            add(fullStateAt, "over", "Missing from a full state", "Its installation did not list it as running.")
        }
        if let loggedOutAt = life.loggedOutAt, loggedOutAt >= explanation.startedAt {
            add(loggedOutAt, "over", "Installation logged out", "Its earlier activities and tokens no longer count.")
        }
        if life.endedAt == nil {
            let title = explanation.expiresAt > now ? "Will expire" : "Expired"
            add(explanation.expiresAt, "over", title, "Its lifetime ends then, even if no caller ends it.")
        }
        return entries
    }
}

struct EventWords {
    let title: String
    let tone: String
    let detail: String?

    init(_ type: String) {
        let known = Self.known[type]
        title = known?.title ?? type.replacingOccurrences(of: "-", with: " ").capitalizedFirst
        tone = known?.tone ?? "plain"
        detail = known?.detail
    }

    private static let known: [String: (title: String, tone: String, detail: String)] = [
        "registered": ("Registered", "good", "Its first token was registered."),
        "rotated": ("Rotated", "good", "A new token replaced the previous token."),
        "reactivated": ("Reactivated", "good", "A client registered the token after the event that had withheld it."),
        "released": ("Released", "good", "An admin ended the quarantine."),
        "dismissed": ("Dismissed", "over", "A full state of its installation did not list it."),
        "ended": ("Ended", "over", "It was ended; that is final."),
        "expired": ("Expiry recorded", "over", "A sweep found that its lifetime had ended."),
        "dropped": ("Dropped", "bad", "APNs reported the token as dead."),
        "quarantined": ("Quarantined", "bad", "A sender reported the token. Senders do not get it for now."),
        "taken-over": ("Taken over", "bad", "Another activity registered the same token later."),
        "purged": ("Purged", "bad", "An admin dropped the token as stale."),
        "lease-taken": ("Start planned", "good", "A sender got the lease to start an activity on the installation."),
        "lease-released": ("Start given back", "over", "The sender gave its lease back and sent nothing."),
        "start-failed": ("Start failed", "bad", "A sender reported that the start push failed."),
        "erased": ("Erased", "bad", "The data of a person was erased."),
    ]

    static func who(_ who: UTF8Text) -> String {
        switch who {
        case "sweep": "the sweep"
        case "command-line": "the command line"
        case "insecure": "a caller without credentials"
        default: AuditName.subject(of: who).map { "the user \($0)" } ?? who.string
        }
    }
}

extension String {
    fileprivate var capitalizedFirst: String { prefix(1).uppercased() + dropFirst() }
}
