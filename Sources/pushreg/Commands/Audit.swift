import ArgumentParser
import Foundation
import RegistryCore
import RegistryRules
import RegistryStore

struct Audit: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Shows stale tokens and the audit trail, and explains aliases.",
        discussion: "Tokens are shown as fingerprints: the first 4 bytes of their SHA-256.",
        subcommands: [Stale.self, Events.self, Explain.self]
    )

    fileprivate static let pageSize = 1000

    fileprivate static func checkLimit(_ limit: Int) throws(CommandFailure) {
        guard limit > 0 else { throw CommandFailure(.usage, "--limit must be at least 1.") }
    }

    fileprivate static func list<Item: Sendable>(
        _ noun: String,
        _ limit: Int,
        _ show: ([Item]) throws -> Void,
        _ readPage: (ListPosition, _ size: Int) async throws -> AuditPage<Item>
    ) async throws {
        var (found, position): ([Item], ListPosition?) = ([], .start)
        while let start = position, found.count < limit {
            let page = try await readPage(start, min(limit - found.count, pageSize))
            found += page.items
            position = page.next
        }
        try show(found)
        let more = position == nil ? "" : " Raise --limit to see more."
        Output.errors.note("\(found.count.of(noun)).\(more)")
    }

    fileprivate static func name(_ activity: UTF8Text?, _ installation: InstallationHash?) -> String {
        activity?.string ?? installation.map { String($0.description.prefix(16)) } ?? ""
    }

    struct Stale: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Lists tokens that look dead, with the reason.")

        @OptionGroup var scope: ScopeArguments
        @OptionGroup(title: "Filters") var filters: StaleOptions
        @Option(help: "The maximum number of tokens to list.") var limit = 100

        func run() async throws {
            try checkLimit(limit)
            try await scope.withRegistry { registry, scope in
                let filter = try filters.filter(of: scope.app)
                try await list("stale token", limit, show) { start, size in
                    try await registry.staleTokens(filter, after: start, limit: size, in: scope)
                }
            }
        }

        private func show(_ tokens: [StaleToken]) throws {
            if tokens.isEmpty { return }
            try Output.results.list(
                tokens,
                asJSON: scope.json,
                ["Kind", "Activity or installation", "Token", "Unconfirmed for", "Why"]
            ) { token in
                [
                    token.kind.name, name(token.activityID, token.installation), Hexadecimal.encode(token.fingerprint),
                    ISO8601Duration.format(token.unconfirmedFor),
                    token.reasons.map { token.sentence(for: $0) }.joined(separator: " "),
                ]
            }
        }
    }

    struct Events: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Reads the audit trail, newest first.")

        @OptionGroup var scope: ScopeArguments
        @Option(help: "Only events about this activity.", transform: ActivityID.init) var activityID: ActivityID?
        @Option(help: "Only events about this installation.", transform: InstallationID.init)
        var installationID: InstallationID?
        @Option(help: "Only events about records of this signed-in user.") var subject: String?
        @Option(
            help: "Only events about records that had this alias at the time: kind:value.",
            transform: Alias.init(pair:)
        )
        var alias: Alias?
        @Option(help: "Only events of this type, such as dropped.") var type: String?
        @Option(help: "Only events from this time on, such as 2026-03-01T12:00:00Z.", transform: Self.time)
        var since: Date?
        @Option(help: "Only events before this time.", transform: Self.time) var until: Date?
        @Option(help: "The maximum number of events to show.") var limit = 100

        func run() async throws {
            try checkLimit(limit)
            try await scope.withRegistry { registry, scope in
                try await list("event", limit, show) { start, size in
                    try await registry.events(filter, after: start, limit: size, in: scope)
                }
            }
        }

        private var filter: EventFilter {
            var filter = EventFilter()
            filter.installation = installationID.map { InstallationHash(of: $0, in: scope.bundleID) }
            (filter.activityID, filter.alias, filter.since, filter.until) = (activityID, alias, since, until)
            (filter.subject, filter.type) = (subject.map { UTF8Text($0) }, type.map { UTF8Text($0) })
            return filter
        }

        private static func time(_ text: String) throws -> Date { try Date.read(.string(text)) }

        private func show(_ events: [AuditEvent]) throws {
            if events.isEmpty { return }
            try Output.results.list(
                events,
                asJSON: scope.json,
                ["At", "Type", "Who", "Activity or installation", "Token", "Aliases"]
            ) { event in
                [
                    RFC3339.format(event.recordedAt), event.type, event.who.string,
                    name(event.activityID, event.installation),
                    event.fingerprint.map { Hexadecimal.encode($0) } ?? "",
                    event.aliases.map { String(decoding: $0, as: UTF8.self) } ?? "",
                ]
            }
        }
    }

    struct Explain: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Shows, for each record of an alias, whether senders get its token, and why."
        )

        @OptionGroup var scope: ScopeArguments
        @OptionGroup var named: AliasArguments
        @Option(help: "The maximum number of activities to explain.") var limit = 100

        func run() async throws {
            try checkLimit(limit)
            let alias = named.alias
            try await scope.withRegistry { registry, scope in
                // Tokens and notes are on the first page.
                var found = try await registry.explain(alias, limit: min(limit, pageSize), in: scope)
                var (last, isWhole) = (found.activities.last, found.activities.count == min(limit, pageSize))
                while let end = last, isWhole, found.activities.count < limit {
                    let size = min(limit - found.activities.count, pageSize)
                    let page = try await registry.explain(alias, after: end.position, limit: size, in: scope)
                    found.activities += page.activities
                    (last, isWhole) = (page.activities.last, page.activities.count == size)
                }
                try show(found)
                for note in found.notes { Output.errors.note(note.sentence) }
                if isWhole { Output.errors.note("The list may be incomplete. Raise --limit to see more.") }
            }
        }

        private func show(_ explanation: AliasExplanation) throws {
            guard !scope.json else {
                for activity in explanation.activities { try Output.results.line(activity.jsonLine) }
                for token in explanation.tokens { try Output.results.line(token.jsonLine) }
                for lease in explanation.leases { try Output.results.line(lease.jsonLine) }
                return
            }
            let activities = explanation.activities.map { Self.row($0.activityID.description, $0.facts) }
            let tokens = explanation.tokens.map { token in
                let type = token.attributesType.map { " \($0)" } ?? ""
                return Self.row("\(token.kind)\(type) of \(token.installation.description.prefix(16))", token.facts)
            }
            if !activities.isEmpty || !tokens.isEmpty {
                try Output.results.table(["Activity or token", "Handed out", "Reason", "Why"], activities + tokens)
            }
            guard !explanation.leases.isEmpty else { return }
            try Output.results.table(
                ["Planned start on", "Lease", "State", "Result"],
                explanation.leases.map { explained in
                    let lease = explained.lease
                    return [
                        name(nil, lease.installation), lease.id.description, explained.state.rawValue,
                        explained.sentence,
                    ]
                }
            )
        }

        private static func row(_ name: String, _ facts: TokenFacts) -> [String] {
            [name, facts.availability == .handedOut ? "yes" : "no", facts.availability.rawValue, facts.sentence]
        }
    }
}
