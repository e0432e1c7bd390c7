import HTTPTypes
import RegistryCore
import RegistryStore

extension ConsoleCall {
    func showPurge() async throws -> Response {
        try await purgePage(try StaleQuestion(in: scope.app, parameter))
    }

    /// The caller must type the scope, so that no other scope is purged by mistake.
    static func confirmation(of scope: Scope) -> String {
        "\(scope.app.bundleID.rawValue) \(scope.environment.rawValue)"
    }

    private func purgePage(_ question: StaleQuestion, fault: String? = nil) async throws -> Response {
        let scope = try scope
        let counts = try await registry.countStaleTokens(question.filter, searchTime: Self.searchTime, in: scope)
        return try page(
            "purge",
            title: "Purge stale tokens",
            status: fault == nil ? .ok : .unprocessableContent,
            [
                "asked": question.words, "matched": DisplayText.count(counts.total, "token"), "counts": counts,
                "isAny": counts.total > 0, "tokens": counts.sample, "hidden": question.hidden,
                "mayPurge": mayChange && (counts.total > 0 || !counts.isComplete), "isReader": !mayChange,
                "confirmation": Self.confirmation(of: scope), "fault": fault,
                "backPath": try link.page("stale", question.parameters),
            ]
        )
    }

    func purge() async throws -> Response {
        let scope = try scope
        let question = try StaleQuestion(in: scope.app, field)
        guard field("confirmation") == Self.confirmation(of: scope) else {
            let fault = "Nothing was purged. Type “\(Self.confirmation(of: scope))” to confirm."
            return try await purgePage(question, fault: fault)
        }
        let purged = try await registry.purgeStaleTokens(question.filter, in: scope, by: principal.who)
        let done = "\(DisplayText.count(purged, "token was", "tokens were")) purged: \(question.words)."
        return try page("purge", title: "Purged", ["done": done, "backPath": try link.page("stale")])
    }
}
