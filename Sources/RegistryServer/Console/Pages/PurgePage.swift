import Foundation
import HTTPTypes
import RegistryCore
import RegistryStore

extension ConsoleCall {
    func showPurge() async throws -> Response {
        try await purgePage(try StaleQuestion(in: requireScope().app, parameter))
    }

    /// The caller must type the scope, so that no other scope is purged by mistake.
    static func confirmation(of scope: Scope) -> String {
        "\(scope.app.bundleID.rawValue) \(scope.environment.rawValue)"
    }

    private func purgePage(_ question: StaleQuestion, fault: String? = nil) async throws -> Response {
        let scope = try requireScope()
        let link = ConsoleLink(scope)
        let counts = try await registry.countStaleTokens(question.filter, searchTime: .milliseconds(150), in: scope)
        return try page(
            "purge",
            title: "Purge stale tokens",
            status: fault == nil ? .ok : .unprocessableContent,
            [
                "asked": .text(question.words), "matched": .text(DisplayText.count(counts.total, "token")),
                "isCounted": .flag(counts.isComplete), "isAny": .flag(counts.total > 0),
                "reasons": .list(
                    counts.entries.map { entry in
                        [
                            "kind": .text(entry.kind.name), "reason": .text(entry.reason.rawValue),
                            "meaning": .text(entry.reason.sentence), "tally": .text(DisplayText.count(entry.count)),
                        ]
                    }
                ),
                "tokens": .list(counts.sample.map { Self.row($0, link) }), "hidden": .list(question.hidden),
                "mayPurge": .flag(mayChange && (counts.total > 0 || !counts.isComplete)), "isReader": .flag(!mayChange),
                "confirmation": .text(Self.confirmation(of: scope)), "fault": .optional(fault),
                "backPath": .text(link.page("stale", question.parameters)),
                "purgeAction": .text(link.page("stale/purge")),
            ]
        )
    }

    func purge() async throws -> Response {
        let scope = try requireScope()
        let question = try StaleQuestion(in: scope.app, field)
        guard field("confirmation") == Self.confirmation(of: scope) else {
            let fault = "Nothing was purged. Type “\(Self.confirmation(of: scope))” to confirm."
            return try await purgePage(question, fault: fault)
        }
        let purged = try await registry.purgeStaleTokens(question.filter, in: scope, by: principal.who)
        console.recent.forget(scope)
        let link = ConsoleLink(scope)
        return try page(
            "purge",
            title: "Purged",
            [
                "done": .text("\(DisplayText.count(purged, "token was", "tokens were")) purged: \(question.words)."),
                "backPath": .text(link.page("stale")), "trailPath": .text(link.search("event:purged")),
            ]
        )
    }
}
