import Foundation
import RegistryCore
import RegistryStore

struct StaleQuestion: Sendable {
    private(set) var filter = StaleFilter()
    private(set) var parameters: [(String, String?)] = []

    static let names = ["kind", "reason", "attributesType", "unconfirmedFor"]

    init(in app: App, _ value: (String) -> String?) throws(Problem) {
        do throws(JSONFaultReason) {
            filter.kind = try value("kind").map(StaleFilter.kind(of: app))
            filter.reason = try value("reason").map(ParameterReader.choice)
            filter.attributesType = try value("attributesType").map(AttributesType.init)
            filter.unconfirmedFor = try value("unconfirmedFor").map(StaleFilter.duration)
        } catch {
            throw Problem(.invalidRequest, "A filter of stale tokens is not valid: it \(error.detail).")
        }
        parameters = Self.names.map { ($0, value($0)) }
    }

    /// Such as “tokens of every kind that look dead for any reason”.
    var words: String {
        let kinds = filter.kind.map { "\($0.name) tokens" } ?? "tokens of every kind"
        let types = filter.attributesType.map { " of \($0.rawValue)" } ?? ""
        let reasons = filter.reason.map { " that are \($0.rawValue)" } ?? " that look dead for any reason"
        let times = filter.unconfirmedFor.map { ", unconfirmed for \(ISO8601Duration.format($0))" } ?? ""
        return kinds + types + reasons + times
    }

    var hidden: [TemplateContext] {
        parameters.compactMap { name, value in value.map { ["hiddenName": .text(name), "hiddenValue": .text($0)] } }
    }
}

extension ConsoleCall {
    /// After this time the page shows the results found so far.
    private static let searchTime = Duration.milliseconds(150)

    func showStale() async throws -> Response {
        let scope = try requireScope()
        let (question, link) = (try StaleQuestion(in: scope.app, parameter), ConsoleLink(scope))
        let list = ["console-stale"] + question.parameters.map { "\($0)=\($1 ?? "")" }
        let given = try position(of: list).map { StalePosition(part: $0.part, number: $0.number) }
        let page = try await registry.staleTokens(
            question.filter,
            after: given ?? .start,
            limit: Self.pageSize,
            searchTime: Self.searchTime,
            in: scope
        )
        let counts = try await console.recent.staleCounts(in: scope, registry)
        let tokens = try await registry.counts(in: scope).tokens
        let next = page.next.map { Cursor.encode(after: $0.number, part: $0.part, of: list, in: scope) }
        var fields: TemplateContext = [
            "reasons": .list(reasons(counts, link)), "isCounted": .flag(counts.isComplete),
            "hasCounts": .flag(!counts.entries.isEmpty),
            "heat": .rows(tokens.map { ["heatKind": .text($0.kind.name)] }),
            "heatRows": .rows(Self.heat(tokens)),
            "tokens": .list(page.items.map { Self.row($0, link) }), "asked": .text(question.words),
            "goesOn": .flag(next != nil && page.items.isEmpty),
            "nextPath": .optional(next.map { link.page("stale", question.parameters + [("cursor", $0)]) }),
            "purgePath": .text(link.page("stale/purge", question.parameters)), "stalePath": .text(link.page("stale")),
            "attributesTypeValue": .optional(question.filter.attributesType?.rawValue),
        ]
        fields.add(choices(question, of: scope.app))
        return try self.page("stale", title: "Stale tokens", fields)
    }

    private func reasons(_ counts: StaleCounts, _ link: ConsoleLink) -> [TemplateContext] {
        counts.entries.map { entry in
            let query = [("kind", entry.kind.name), ("reason", entry.reason.rawValue)]
            return [
                "kind": .text(entry.kind.name), "reason": .text(entry.reason.rawValue),
                "meaning": .text(entry.reason.sentence), "tally": .text(DisplayText.count(entry.count)),
                "reasonPath": .text(link.page("stale", query)),
            ]
        }
    }

    /// Tokens by time since their last confirmation, as a coloured table.
    private static func heat(_ tokens: [RegistryStatistics.Tokens]) -> [TemplateContext] {
        RegistryStatistics.emptyAges.enumerated().map { index, group in
            [
                "age": .text(group.upTo.map { "up to \(DisplayText.span($0))" } ?? "longer"),
                "cells": .rows(
                    tokens.map { kind in
                        let count = kind.ages.indices.contains(index) ? kind.ages[index].count : 0
                        return [
                            "heatCount": .text(DisplayText.count(count)),
                            "heatLevel": .text(String(level(count, of: kind.count))),
                        ]
                    }
                ),
            ]
        }
    }

    /// 0 for none to 5 for nearly all.
    private static func level(_ count: Int, of total: Int) -> Int {
        guard count > 0, total > 0 else { return 0 }
        return 1 + min(4, count * 5 / total)
    }

    static func row(_ token: StaleToken, _ link: ConsoleLink) -> TemplateContext {
        let reasons = token.reasons.map { reason in
            token.sentence(for: reason, span: { DisplayText.span($0) })
        }
        return [
            "kind": .text(token.kind.name), "fingerprint": .text(Hexadecimal.encode(token.fingerprint)),
            "why": .text(reasons.joined(separator: " ")),
            // Silent tokens are common. Reported ones need attention.
            "tone": .text(token.reasons == [.unconfirmed] || token.reasons == [.expired] ? "over" : "bad"),
            "reasonNames": .text(token.reasons.map(\.rawValue).joined(separator: ", ")),
            "activityId": .optional(token.activityID), "activityPath": .optional(token.activityID.map(link.activity)),
            "installation": .optional(token.installation.map(DisplayText.short)),
            "installationPath": .optional(token.installation.map(link.installation)),
            "attributesType": .optional(token.attributesType), "confirmed": .row(.moment(token.confirmedAt, token.now)),
        ]
    }

    private func choices(_ question: StaleQuestion, of app: App) -> TemplateContext {
        func options(_ words: [(String, String)], _ chosen: String?) -> TemplateContext.Content {
            .rows(
                ([("", "any")] + words).map { value, text in
                    ["option": .text(value), "optionText": .text(text), "isSelected": .flag(value == chosen ?? "")]
                }
            )
        }
        let spans = [
            ("PT2H", "2 hours"), ("PT8H", "8 hours"), ("P1D", "1 day"), ("P3D", "3 days"), ("P30D", "30 days"),
        ]
        let value = { (name: String) in question.parameters.first { $0.0 == name }?.1 }
        return [
            "kindOptions": options(app.settings.allTokenKinds.map { ($0.name, $0.name) }, value("kind")),
            "reasonOptions": options(StaleReason.allCases.map { ($0.rawValue, $0.rawValue) }, value("reason")),
            "spanOptions": options(spans, value("unconfirmedFor")),
        ]
    }
}

extension StaleReason {
    var sentence: String {
        switch self {
        case .unconfirmed: "No client has registered or refreshed it for 2 hours, or 3 days for other kinds."
        case .expired: "The activity's lifetime has ended, and no sweep has recorded that yet."
        case .quarantined: "A sender reported it, and neither a client nor an admin has cleared it since."
        }
    }
}
