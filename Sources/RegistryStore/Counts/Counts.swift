import Foundation
import PostgresDriver
import RegistryCore

package struct Counts: Sendable, Hashable {
    package enum TokenState: String, Sendable, Hashable, CaseIterable {
        case current
        /// Reported as bad, and not claimed by a client since then.
        case quarantined
        /// Dead, taken over, or belonging to a logged-out installation.
        case withheld
    }

    /// Activities or tokens counted together. Update tokens count only for active activities.
    package enum Group: Sendable, Hashable {
        case activities(ActivityState)
        case tokens(TokenKind, TokenState)

        package static let all: [Group] =
            ActivityState.allCases.map(Group.activities)
            + TokenKind.all.flatMap { kind in TokenState.allCases.map { .tokens(kind, $0) } }

        fileprivate var names: (kind: String, state: String) {
            switch self {
            case .activities(let state): ("activity", state.rawValue)
            case .tokens(let kind, let state): (kind.name, state.rawValue)
            }
        }

        init?(kind: String, state: String) {
            let group =
                kind == "activity"
                ? ActivityState(rawValue: state).map(Group.activities)
                : TokenState(rawValue: state).map { .tokens(TokenKind(stored: kind), $0) }
            guard let group else { return nil }
            self = group
        }
    }

    /// The start of the minute, by Postgres's clock.
    package let countedAt: Date
    package let isEstimated: Bool
    /// Counts by age, as in ``RegistryStatistics/emptyAges``. Empty groups are missing.
    private let ages: [Group: [Int]]

    package subscript(group: Group) -> Int { ages[group]?.reduce(0, +) ?? 0 }

    func ages(of groups: Group...) -> [RegistryStatistics.AgeGroup] {
        RegistryStatistics.emptyAges.enumerated().map { index, age in
            .init(upTo: age.upTo, count: groups.map { ages[$0]?.dropFirst(index).first ?? 0 }.reduce(0, +))
        }
    }

    /// The current tokens of each built-in kind, and of each other kind that has tokens.
    package var tokens: [RegistryStatistics.Tokens] {
        let counted = ages.keys.compactMap { if case .tokens(let kind, .current) = $0 { kind } else { nil } }
        let others = Set(counted).subtracting(TokenKind.all).sorted { $0.name < $1.name }
        return (TokenKind.all + others).map { kind in
            .init(kind: kind, count: self[.tokens(kind, .current)], ages: ages(of: .tokens(kind, .current)))
        }
    }
}

extension Counts: DecodableRow {
    package init(row: NamedRow) throws {
        countedAt = try row["counted_at"]
        isEstimated = try row["is_estimated"]
        ages = try Self.ages(stored: try row["ages"])
    }
}

extension Counts {
    /// Skips unknown groups, because a later version may store more.
    static func ages(stored json: JSONB) throws -> [Group: [Int]] {
        guard let value = JSONValue(stored: json.bytes) else { throw UnreadableRow(detail: "counts are not JSON") }
        var ages: [Group: [Int]] = [:]
        for (kind, states) in try JSONObject.read(value) {
            for (state, counts) in try JSONObject.read(states) {
                guard let group = Group(kind: kind, state: state) else { continue }
                ages[group] = try [JSONValue].read(counts).map(Int.read)
            }
        }
        return ages
    }

    static func json(_ ages: [Group: [Int]]) -> JSONB {
        var json = JSONWriter()
        json.object { json in
            for (kind, groups) in Dictionary(grouping: ages.keys, by: \.names.kind) {
                json.object(kind) { json in
                    for group in groups { json.member(group.names.state, ifPresent: ages[group]) }
                }
            }
        }
        return JSONB(json.bytes)
    }
}
