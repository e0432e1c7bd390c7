import Foundation
import RegistryCore
import RegistryStore

extension ConsoleCall {
    private static let eventCount = 200

    func showActivity() async throws -> Response {
        let scope = try requireScope()
        let life = try await readLife(in: scope)
        let (explanation, link) = (life.explanation, ConsoleLink(scope))
        let id = explanation.activityID.rawValue
        let path = link.activity(id)
        var fields: TemplateContext = [
            "availability": .text(explanation.facts.availability.label),
            "tone": .text(explanation.facts.availability.tone),
            "why": .text(explanation.facts.explanation), "state": .text(explanation.state.rawValue),
            "facts": .rows(facts(of: life, link)), "events": .list(LifeLine(life, link, now).rows),
            "hasMoreEvents": .flag(life.hasMoreEvents), "eventCount": .text(String(Self.eventCount)),
            "metadata": .optional(life.metadata.flatMap(Self.readable)),
            "retired": .list(life.retired.map { Self.row($0, now) }),
            "leases": .list(try await leases(of: life, in: scope).map { .row($0, link, now) }),
        ]
        if explanation.facts.availability == .quarantined, mayChange {
            fields["releasePath"] = .text(path + "/release")
        }
        return try page("activity", title: id.string, fields)
    }

    private func readLife(in scope: Scope) async throws -> ActivityLife {
        guard let id = try? ActivityID(call.parameter("activityId")),
            let life = try await registry.life(of: id, events: Self.eventCount, in: scope)
        else {
            throw Problem(
                .activityNotFound,
                "The activity is unknown in this app and environment, or its retention is over."
            )
        }
        return life
    }

    private func leases(of life: ActivityLife, in scope: Scope) async throws -> [ExplainedLease] {
        guard let installation = life.explanation.installation else { return [] }
        let names = Set(DisplayText.aliases(life.aliases))
        return try await registry.leases(of: installation, in: scope).filter { names.contains($0.alias) }
    }

    func releaseActivity() async throws -> Response {
        let scope = try requireScope()
        guard let id = try? ActivityID(call.parameter("activityId")) else {
            throw Problem(.activityNotFound, "The activity id is not valid.")
        }
        _ = try await registry.release(id, in: scope, by: principal.who)
        return .seeOther(ConsoleLink(scope).activity(id.rawValue))
    }

    private static func readable(_ json: [UInt8]) -> String? {
        guard case .object(let object)? = try? JSONParser.parse(json), !object.isEmpty else { return nil }
        return object.map { "\($0.key): \($0.value)" }.joined(separator: "\n")
    }

    private static func row(_ token: ActivityLife.RetiredToken, _ now: Date) -> TemplateContext {
        [
            "oldFingerprint": .text(Hexadecimal.encode(token.fingerprint)), "oldReason": .text(reason(token.reason)),
            "observed": .row(.moment(token.observedAt, now)),
        ]
    }

    private static func reason(_ word: String) -> String {
        switch word {
        case "rotated": "rotated: a newer token replaced it"
        case "unregistered": "unregistered: APNs reported it as dead"
        case "taken-over": "taken over: another activity registered it later"
        case "purged": "purged by an admin"
        default: word
        }
    }

    private func facts(of life: ActivityLife, _ link: ConsoleLink) -> [TemplateContext] {
        let explanation = life.explanation
        var rows: [TemplateContext] = []
        func add(_ name: String, _ text: String?, _ path: String? = nil) {
            guard let text else { return }
            rows.append(["name": .text(name), "value": .text(text), "path": .optional(path)])
        }
        func add(_ name: String, _ time: Date?) {
            guard let moment = TemplateContext.moment(time, now) else { return }
            rows.append(["name": .text(name), "moment": .row(moment)])
        }
        for alias in DisplayText.aliases(life.aliases) { add("Alias", alias.description, link.alias(alias)) }
        add("Token", explanation.fingerprint.map(Hexadecimal.encode))
        add("Started", explanation.startedAt)
        add("Scheduled for", explanation.startsAt)
        add("Expires", explanation.expiresAt)
        add("Last confirmed", explanation.confirmedAt)
        add("Last observed", life.lastObservedAt)
        add("Last push accepted by APNs", explanation.deliveredAt)
        let installation = explanation.installation
        add("Installation", installation.map(DisplayText.short), installation.map(link.installation))
        let user = life.subject?.string
        add("User", user, user.map { link.search("subject:\(SearchText.quoted($0))") })
        add("Attributes type", life.facts.attributesType?.description)
        add("Frequent pushes", life.facts.frequentPushesEnabled.map { $0 ? "on" : "off" })
        add("Revision", DisplayText.count(Int(life.revision)))
        return rows
    }
}
