import RegistryCore
import RegistryStore

extension ConsoleCall {
    func showSearch() async throws -> Response {
        let (scope, link, text) = (try scope, try link, parameter("q") ?? "")
        let search = SearchText(text)
        if let masked = search.withoutSecrets { return .seeOther(link.search(masked)) }
        if let elsewhere = elsewhere(search, text, scope) { return .seeOther(elsewhere) }
        if let page = stalePage(search, link) { return .seeOther(page) }
        var results = SearchResults()
        if search["event"] != nil || search["subject"] != nil || search["since"] != nil {
            results = try await findEvents(search, in: scope)
        } else if !search.terms.isEmpty {
            results = try await findRecords(search, in: scope)
        }
        let isEmpty = results.activities.isEmpty && results.installations.isEmpty && results.events.isEmpty
        return try page(
            "search",
            [
                "query": text, "isAsked": !text.isEmpty, "results": results,
                "found": results.sentence ?? (isEmpty ? "Nothing was found." : nil), "rows": results.activities,
                "eventsFound": results.events,
            ]
        )
    }

    /// The link to this search in another environment, if the search names one.
    private func elsewhere(_ search: SearchText, _ text: String, _ scope: Scope) -> String? {
        guard let named = search["environment"].flatMap({ APNSEnvironment(rawValue: $0.lowercased()) }),
            named != scope.environment
        else { return nil }
        return ConsoleLink(scope.app.bundleID, named).search(text)
    }

    private func stalePage(_ search: SearchText, _ link: ConsoleLink) -> String? {
        guard let state = search["state"]?.lowercased(), search["alias"] == nil, search["activity"] == nil,
            search["fingerprint"] == nil, search["installation"] == nil, search.bareWords.isEmpty
        else { return nil }
        switch state {
        case "stale": return link.page("stale")
        case "quarantined", "unconfirmed": return link.page("stale", [("reason", state)])
        default: return nil
        }
    }
}

struct SearchResults: Sendable {
    var activities: [AliasExplanation.Activity] = []
    var installations: [InstallationHash] = []
    var events: [AuditEvent] = []
    var alias: Alias?
    var sentence: String?
    var cursor: String?
}
