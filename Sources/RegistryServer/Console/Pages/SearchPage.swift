import Foundation
import RegistryCore
import RegistryStore

extension ConsoleCall {
    func showSearch() async throws -> Response {
        let (scope, link, text) = (try scope, try link, parameter("q") ?? "")
        let search = SearchText(text)
        if let masked = search.withoutSecrets { return .seeOther(link.search(masked)) }
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

    private func stalePage(_ search: SearchText, _ link: ConsoleLink) -> String? {
        guard search.isAboutStateAlone, let state = search["state"]?.lowercased() else { return nil }
        switch state {
        case "stale": return link.page("stale")
        case "quarantined", "unconfirmed": return link.page("stale", [("reason", state)])
        default: return nil
        }
    }

    func findRecords(_ search: SearchText, in scope: Scope) async throws -> SearchResults {
        var results = SearchResults()
        let state = search["state"]?.lowercased()
        if let state, !Self.states.contains(state) {
            results.sentence = "The state “\(state)” is unknown. Use stale, \(Self.states.joined(separator: ", "))."
            return results
        }
        let ways = Self.ways(search)
        guard !ways.isEmpty else {
            results.sentence = "Search for an installation or a fingerprint by its hex digits, two for each byte."
            return results
        }
        let limit = 100
        let found = try await registry.findActivities(ways, limit: limit, in: scope)
        results.activities = found.filter { Self.isAsked($0, state) }
        for case .installation(let prefix) in ways {
            let installations = try await registry.findInstallations(beginningWith: prefix, limit: limit, in: scope)
            results.installations += installations
        }
        results.alias = search["alias"].flatMap { try? Alias(pair: $0) }
        if let alias = results.alias {
            results.installations += try await registry.findInstallations(under: alias, limit: limit, in: scope)
        }
        if found.count >= limit {
            results.sentence = "The result may be incomplete: a search shows at most \(limit) matches."
        }
        return results
    }

    private static let states = ["active", "ended", "expired", "dismissed", "quarantined"]

    private static func isAsked(_ activity: AliasExplanation.Activity, _ state: String?) -> Bool {
        guard let state else { return true }
        return state == "quarantined"
            ? activity.facts.availability == .quarantined : activity.state.rawValue == state
    }

    /// A search by state alone finds the latest activities.
    private static func ways(_ search: SearchText) -> [ActivitySearch] {
        let ways = search.terms.flatMap { term -> [ActivitySearch] in
            switch term.name {
            case "activity": [.id(UTF8Text(term.value))]
            case "alias": aliases(term.value)
            case "fingerprint": Hexadecimal.decode(term.value).map { [.fingerprint($0)] } ?? []
            case "installation": Hexadecimal.decode(term.value).map { [.installation($0)] } ?? []
            case nil: [.id(UTF8Text(term.value))] + aliases(term.value) + hexadecimal(term.value)
            default: []
            }
        }
        guard search.isAboutStateAlone else { return ways }
        return search["state"] == "ended" || search["state"] == "expired" ? [.over, .running] : [.running]
    }

    private static func aliases(_ text: String) -> [ActivitySearch] {
        let named = (try? Alias(pair: text)).map { [ActivitySearch.alias(kind: $0.kind, value: $0.value)] } ?? []
        return [.alias(kind: nil, value: UTF8Text(text))] + named
    }

    /// Eight digits can be a fingerprint. Eight or more can begin an installation's hash.
    private static func hexadecimal(_ text: String) -> [ActivitySearch] {
        guard text.utf8.count >= 8, let bytes = Hexadecimal.decode(text) else { return [] }
        return bytes.count == 4 ? [.fingerprint(bytes), .installation(bytes)] : [.installation(bytes)]
    }

    func findEvents(_ search: SearchText, in scope: Scope) async throws -> SearchResults {
        var (filter, results) = (EventFilter(), SearchResults())
        for term in search.terms {
            results.sentence = Self.narrow(&filter, by: term, now)
            if results.sentence != nil { return results }
        }
        let list = ["console-events", parameter("q") ?? ""]
        let page = try await registry.events(filter, after: position(of: list), limit: Self.pageSize, in: scope)
        results.events = page.items
        results.cursor = page.next?.cursor(of: list, in: scope)
        if page.items.isEmpty, page.next != nil {
            results.sentence = "None so far. The rest of the audit trail was not searched yet."
        }
        return results
    }

    /// - Returns: Why the audit trail cannot be searched by the term.
    private static func narrow(_ filter: inout EventFilter, by term: SearchText.Term, _ now: Date) -> String? {
        let (text, type) = (term.value, term.value.lowercased())
        do {
            switch term.name {
            case "event": filter.type = type == "any" ? nil : UTF8Text(type)
            case "subject": filter.subject = UTF8Text(text)
            case "activity": filter.activityID = try ActivityID(text)
            case "alias": filter.alias = try Alias(pair: text)
            case "installation": filter.installation = try InstallationHash(hexadecimal: text)
            case "since":
                filter.since = time(text, now)
                if filter.since == nil { return "since: takes 30min, 2h, 7d or a time such as 2026-01-31T12:00:00Z." }
            default: throw JSONFaultReason("is no filter")
            }
            return nil
        } catch {
            return """
                The audit trail cannot be searched by “\(term)”. Search by event, activity, subject, since, an alias with its \
                kind, such as alias:userId:u-7, or the whole hash of an installation.
                """
        }
    }

    private static func time(_ text: String, _ now: Date) -> Date? {
        if let time = try? Date.read(.string(text)) { return time }
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        guard let count = Double(digits), count <= 100_000 else { return nil }
        switch text.dropFirst(digits.count).lowercased() {
        case "min", "m": return now.addingTimeInterval(-count * 60)
        case "h": return now.addingTimeInterval(-count * 3600)
        case "d": return now.addingTimeInterval(-count * 86_400)
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

/// Words and qualifiers, such as `alias:order-42`.
struct SearchText: Sendable, Hashable {
    struct Term: Sendable, Hashable, CustomStringConvertible {
        let name: String?
        let value: String
        var description: String { (name.map { "\($0):" } ?? "") + value }
    }

    let terms: [Term]

    /// `search-guide.mustache` explains them.
    private static let names: Set<UTF8Text> = [
        "alias", "activity", "installation", "fingerprint", "subject", "state", "event", "since",
    ]

    /// Splits at spaces. Quotation marks keep a value together.
    init(_ text: String) {
        terms = Self.words(text).map { word in
            let halves = word.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            guard halves.count == 2, Self.names.contains(UTF8Text(halves[0].lowercased())), !halves[1].isEmpty else {
                return Term(name: nil, value: word)
            }
            return Term(name: halves[0].lowercased(), value: halves[1])
        }
    }

    subscript(name: String) -> String? { terms.last { $0.name == name }?.value }
    var isAboutStateAlone: Bool { terms.allSatisfy { $0.name == "state" } }

    private static func words(_ text: String) -> [String] {
        let word = /(?:"[^"]*"?|[^\s"])+/.matchingSemantics(.unicodeScalar)
        let words = text.matches(of: word).map { String($0.0.unicodeScalars.filter { $0 != "\"" }) }
        return words.filter { !$0.isEmpty }
    }

    static func quoted(_ value: String) -> String {
        value.unicodeScalars.contains { $0.properties.isWhitespace } ? "\"\(value)\"" : value
    }

    /// Replaces pasted tokens with fingerprints and keys with their ids, so that the token is found and no page
    /// contains a secret. Nil if the text contains none.
    var withoutSecrets: String? {
        let names = terms.map(Self.publicName)
        guard names.contains(where: { $0 != nil }) else { return nil }
        let words = zip(terms, names).map { term, name in
            name ?? (term.name.map { "\($0):" } ?? "") + Self.quoted(term.value)
        }
        return words.joined(separator: " ")
    }

    /// Skips texts of 8 hex digits, which are fingerprints, and the values of aliases and ids.
    private static func publicName(of term: Term) -> String? {
        let text = term.value
        if let key = APIKey(Secret(text)) { return key.id.rawValue }
        guard term.name == nil || term.name == "fingerprint", text.utf8.count >= 32,
            let bytes = Hexadecimal.decode(text)
        else { return nil }
        return "fingerprint:\(TokenFingerprint.text(of: Array(bytes)))"
    }
}
