import Foundation
import RegistryCore
import RegistryRules
import RegistryStore

extension ConsoleCall {
    private static let eventCount = 200

    func showActivity() async throws -> Response {
        guard let id = try? ActivityID(call.parameter("activityId")),
            let life = try await registry.life(of: id, events: Self.eventCount, in: scope)
        else {
            throw Problem(
                .activityNotFound,
                "The activity is unknown in this app and environment, or its retention is over."
            )
        }
        let (activity, aliases) = (life.explanation, Alias.all(in: life.aliases))
        var leases: [ExplainedLease] = []
        if let installation = activity.installation {
            leases = try await registry.leases(of: installation, in: scope).filter { aliases.contains($0.lease.alias) }
        }
        return try page(
            "activity",
            title: id.description,
            [
                "life": life, "activity": activity, "aliases": aliases, "events": life.entries(at: now),
                "eventCount": Self.eventCount, "leases": leases,
                "userSearch": life.subject.map { "subject:\(SearchText.quoted($0.string))" },
                "frequentPushes": life.facts.frequentPushesEnabled.map { $0 ? "on" : "off" },
                "metadata": life.metadata.flatMap(Self.readable),
                "mayRelease": activity.facts.availability == .quarantined && mayChange,
            ]
        )
    }

    func releaseActivity() async throws -> Response {
        guard let id = try? ActivityID(call.parameter("activityId")) else {
            throw Problem(.activityNotFound, "The activity id is not valid.")
        }
        _ = try await registry.release(id, in: scope, by: principal.who)
        return .seeOther(try link.page("activities/\(ConsoleLink.encoded(id.description))"))
    }

    private static func readable(_ json: [UInt8]) -> String? {
        guard case .object(let object)? = try? JSONParser.parse(json), !object.isEmpty else { return nil }
        return object.map { "\($0.key): \($0.value)" }.joined(separator: "\n")
    }
}

extension ActivityLife.RetiredToken: Presentable {
    static var computed: Properties { ["sentence": \.sentence] }

    private var sentence: String {
        switch reason {
        case "rotated": "rotated: a newer token replaced it"
        case "unregistered": "unregistered: APNs reported it as dead"
        case "taken-over": "taken over: another activity registered it later"
        case "purged": "purged by an admin"
        default: reason
        }
    }
}

struct LifeEntry: Sendable {
    let time: Date
    let tone: String
    let title: String
    var detail: String?
    var who: String?
    var fingerprint: [UInt8]?
}

extension ActivityLife {
    /// The audit trail and other stored facts, oldest first.
    func entries(at now: Date) -> [LifeEntry] {
        let entries = events.map { event in
            LifeEntry(
                time: event.recordedAt,
                tone: event.words.tone,
                title: event.words.title,
                detail: detail(of: event) ?? event.words.detail,
                who: event.actor,
                fingerprint: event.fingerprint
            )
        }
        return (entries + states(at: now)).sorted { $0.time < $1.time }
    }

    /// The reason of the last report against the current token, which the audit trail lacks.
    private func detail(of event: AuditEvent) -> String? {
        let isLast = event == events.first { $0.type == event.type } && event.fingerprint == explanation.fingerprint
        guard isLast || event.type == "ended" else { return nil }
        return switch event.type {
        case "quarantined": explanation.facts.quarantineReason.map { "A sender reported \($0) from APNs." }
        case "dropped": deadAt.map { "APNs reported the token as dead since \(DisplayText.clock($0)) UTC." }
        case "ended" where explanation.facts.endReason == "dismissed": "The user dismissed it."
        default: nil
        }
    }

    /// Facts without an event, or with another time than their event.
    private func states(at now: Date) -> [LifeEntry] {
        var entries: [LifeEntry] = []
        func add(_ time: Date?, _ tone: String, _ title: String, _ detail: String) {
            if let time { entries.append(LifeEntry(time: time, tone: tone, title: title, detail: detail)) }
        }
        add(explanation.startedAt, "plain", "Started", "The earliest start time that a caller gave.")
        add(explanation.startsAt, "plain", "Scheduled start", "Its lifetime is counted from then.")
        if let confirmedAt = explanation.confirmedAt, confirmedAt.timeIntervalSince(createdAt) > 1 {
            add(confirmedAt, "plain", "Last confirmed", "A client registered or refreshed its token.")
        }
        add(explanation.deliveredAt, "good", "Last push delivered", "APNs accepted a push to its token.")
        if let fullStateAt, let observedAt = lastObservedAt, fullStateAt > observedAt {
            add(fullStateAt, "over", "Missing from a full state", "Its installation did not list it as running.")
        }
        if let loggedOutAt, loggedOutAt >= explanation.startedAt {
            add(loggedOutAt, "over", "Installation logged out", "Its earlier activities and tokens no longer count.")
        }
        if endedAt == nil {
            let title = explanation.expiresAt > now ? "Will expire" : "Expired"
            add(explanation.expiresAt, "over", title, "Its lifetime ends then, even if no caller ends it.")
        }
        return entries
    }
}

extension AuditEvent: Presentable {
    static var computed: Properties { ["words": \.words, "actor": \.actor, "aliases": \.namedAliases] }

    typealias Words = (title: String, tone: String, detail: String?)

    var words: Words {
        Self.words[type] ?? (type.prefix(1).uppercased() + type.dropFirst().replacing("-", with: " "), "plain", nil)
    }

    private static let words: [String: Words] = [
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

    private var namedAliases: [Alias] { Alias.all(in: aliases) }

    var actor: String {
        switch who {
        case "sweep": "the sweep"
        case "command-line": "the command line"
        case "insecure": "a caller without credentials"
        default: AuditName.subject(of: who).map { "the user \($0)" } ?? who.string
        }
    }
}
