import Foundation
import RegistryCore
import RegistryStore

extension ConsoleCall {
    func showSearch() async throws -> Response {
        let scope = try requireScope()
        let text = parameter("q") ?? ""
        let search = SearchText(text)
        let link = ConsoleLink(scope)
        if let masked = search.withoutSecrets { return .seeOther(link.search(masked)) }
        if let elsewhere = elsewhere(search, text, scope) { return .seeOther(elsewhere) }
        if let page = stalePage(search, link) { return .seeOther(page) }
        var results = SearchResults()
        if search["event"] != nil || search["subject"] != nil || search["since"] != nil {
            results = try await findEvents(search, in: scope)
        } else if !search.terms.isEmpty {
            results = try await findRecords(search, in: scope)
        }
        return try show(results, for: text, in: scope)
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

    private func show(_ results: SearchResults, for text: String, in scope: Scope) throws -> Response {
        let link = ConsoleLink(scope)
        let count = results.activities.count + results.installations.count + results.events.count
        return try page(
            "search",
            [
                "query": .text(text), "isAsked": .flag(!text.isEmpty),
                "found": .text(results.sentence ?? (count == 0 ? "Nothing was found." : "")),
                "hasFound": .flag(results.sentence != nil || count == 0),
                "rows": .list(results.activities.map { .row($0, link, now) }),
                "installationsFound": .list(
                    results.installations.map {
                        ["hash": .text(DisplayText.short($0)), "hashPath": .text(link.installation($0))]
                    }
                ),
                "eventsFound": .list(results.events.map { Self.row($0, link, now) }),
                "aliasPath": .optional(results.alias.map { link.alias($0) }),
                "aliasName": .optional(results.alias?.description),
                "nextPath": .optional(results.cursor.map { link.page("search", [("q", text), ("cursor", $0)]) }),
                "qualifiers": .rows(SearchText.qualifiers.map { ["example": .text($0), "finds": .text($1)] }),
            ]
        )
    }

    static func row(_ event: AuditEvent, _ link: ConsoleLink, _ now: Date) -> TemplateContext {
        let words = EventWords(event.type)
        return [
            "eventTitle": .text(words.title), "eventTone": .text(words.tone),
            "at": .row(.moment(event.recordedAt, now)), "eventWho": .text(EventWords.who(event.who)),
            "activityId": .optional(event.activityID),
            "activityPath": .optional(event.activityID.map(link.activity)),
            "installation": .optional(event.installation.map(DisplayText.short)),
            "installationPath": .optional(event.installation.map(link.installation)),
            "subject": .optional(event.subject), "fingerprint": .optional(event.fingerprint.map(Hexadecimal.encode)),
            "eventAliases": .list(
                DisplayText.aliases(event.aliases).map {
                    ["aliasText": .text($0.description), "aliasHref": .text(link.alias($0))]
                }
            ),
        ]
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
