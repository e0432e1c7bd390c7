import HTTPTypes
import RegistryCore
import RegistryStore

struct StaleQuestion: Sendable {
    private(set) var filter = StaleFilter()
    private(set) var parameters: [ConsoleLink.Parameter] = []

    init(in app: App, _ value: (String) -> String?) throws(Problem) {
        do throws(JSONFaultReason) {
            filter.kind = try value("kind").map(StaleFilter.kind(of: app))
            filter.reason = try value("reason").map(JSONValue.string).map(StaleReason.read)
            filter.attributesType = try value("attributesType").map(AttributesType.init)
            filter.unconfirmedFor = try value("unconfirmedFor").map(StaleFilter.duration)
        } catch { throw Problem(.invalidRequest, "A filter of stale tokens is not valid: it \(error.detail).") }
        parameters = ["kind", "reason", "attributesType", "unconfirmedFor"].map { ($0, value($0)) }
    }

    /// Such as “tokens of every kind that look dead for any reason”.
    var words: String {
        let kinds = filter.kind.map { "\($0.name) tokens" } ?? "tokens of every kind"
        let types = filter.attributesType.map { " of \($0.rawValue)" } ?? ""
        let reasons = filter.reason.map { " that are \($0.rawValue)" } ?? " that look dead for any reason"
        let times = filter.unconfirmedFor.map { ", unconfirmed for \(ISO8601Duration.format($0))" } ?? ""
        return kinds + types + reasons + times
    }
}

extension ConsoleCall {
    /// After this time a page shows the results found so far.
    static let searchTime = Duration.milliseconds(150)

    func showStale() async throws -> Response {
        let (scope, link) = (try scope, try link)
        let question = try StaleQuestion(in: scope.app, parameter)
        let list = ["console-stale"] + question.parameters.map { "\($0.name)=\($0.value ?? "")" }
        let page = try await registry.staleTokens(
            question.filter,
            after: position(of: list),
            limit: Self.pageSize,
            searchTime: Self.searchTime,
            in: scope
        )
        let tokens = try await registry.counts(in: scope).tokens
        let next = page.next?.cursor(of: list, in: scope)
        var fields: TemplateContext = [
            "counts": try await registry.countStaleTokens(hasSample: false, searchTime: Self.searchTime, in: scope),
            "heat": tokens, "ages": Self.ages(of: tokens), "tokens": page.items, "asked": question.words,
            "goesOn": next != nil && page.items.isEmpty,
            "nextPath": next.map { link.page("stale", question.parameters + [("cursor", $0)]) },
            "purgePath": link.page("stale/purge", question.parameters),
        ]
        fields.add(Self.choices(question, of: scope.app))
        return try self.page("stale", title: "Stale tokens", fields)
    }

    /// Tokens by time since their last confirmation, as a coloured table.
    private static func ages(
        of tokens: [RegistryStatistics.Tokens]
    ) -> [(age: String, cells: [(count: Int, level: Int)])] {
        RegistryStatistics.emptyAges.enumerated().map { index, group in
            let cells = tokens.map { kind in
                let count = kind.ages.indices.contains(index) ? kind.ages[index].count : 0
                return (count: count, level: level(count, of: kind.count))
            }
            return (age: group.upTo.map { "up to \(DisplayText.span($0))" } ?? "longer", cells: cells)
        }
    }

    /// 0 for none to 5 for nearly all.
    private static func level(_ count: Int, of total: Int) -> Int {
        guard count > 0, total > 0 else { return 0 }
        return 1 + min(4, count * 5 / total)
    }

    private static func choices(_ question: StaleQuestion, of app: App) -> TemplateContext {
        func options(_ name: String, _ words: [(String, String)]) -> [(value: String, text: String, isSelected: Bool)] {
            let chosen = question.parameters.first { $0.name == name }?.value ?? ""
            return ([("", "any")] + words).map { (value: $0, text: $1, isSelected: $0 == chosen) }
        }
        let spans = [
            ("PT2H", "2 hours"), ("PT8H", "8 hours"), ("P1D", "1 day"), ("P3D", "3 days"), ("P30D", "30 days"),
        ]
        return [
            "kindOptions": options("kind", app.settings.allTokenKinds.map { ($0.name, $0.name) }),
            "reasonOptions": options("reason", StaleReason.allCases.map { ($0.rawValue, $0.rawValue) }),
            "spanOptions": options("unconfirmedFor", spans), "type": question.filter.attributesType,
        ]
    }

    func showPurge() async throws -> Response { try await purgePage(try StaleQuestion(in: scope.app, parameter)) }

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
                "isAny": counts.total > 0, "tokens": counts.sample, "hidden": question.parameters,
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

extension StaleToken: Presentable {
    static var computed: Properties { ["why": \.why] }
    private var why: String { reasons.map { sentence(for: $0, span: { DisplayText.span($0) }) }.joined(separator: " ") }
}

extension StaleCounts.Entry: Presentable {
    static var computed: Properties { ["meaning": \.reason.sentence] }
}

extension StaleReason {
    fileprivate var sentence: String {
        switch self {
        case .unconfirmed: "No client has registered or refreshed it for 2 hours, or 3 days for other kinds."
        case .expired: "The activity's lifetime has ended, and no sweep has recorded that yet."
        case .quarantined: "A sender reported it, and neither a client nor an admin has cleared it since."
        }
    }
}
