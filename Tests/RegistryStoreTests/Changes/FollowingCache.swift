import Foundation
import RegistryCore
import RegistryStore

/// A sender's cache, which follows the change feed and resolves the aliases of each change.
struct FollowingCache {
    struct Entry: Hashable {
        struct Activity: Hashable {
            let id: ActivityID
            let token: PushToken
            let installation: InstallationHash?
            let facts: ActivityFacts
            let startedAt: Date
            let startsAt: Date?
            let expiresAt: Date
            let revision: Int
        }

        struct Token: Hashable {
            let kind: String
            let token: PushToken
            let installation: InstallationHash
            let attributesType: UTF8Text?
        }

        var activities: Set<Activity> = []
        var tokens: Set<Token> = []
        var channel: BroadcastChannel?

        func names(_ change: Change) -> Bool {
            activities.contains {
                $0.id.rawValue == change.activityID
                    || ($0.installation != nil && $0.installation == change.installation)
            }
                || tokens.contains { $0.installation == change.installation }
        }
    }

    private let registry: Registry
    let scope: Scope
    private(set) var entries: [Alias: Entry] = [:]
    private var position: ChangePosition

    init(of aliases: [Alias], on registry: Registry, in scope: Scope) async throws {
        (self.registry, self.scope) = (registry, scope)
        position = try await registry.presentChangePosition()
        for alias in aliases { entries[alias] = try await Self.resolve(alias, on: registry, in: scope) }
    }

    func differences(from registry: Registry) async throws -> [String] {
        var found: [String] = []
        for (alias, entry) in entries {
            let resolved = try await Self.resolve(alias, on: registry, in: scope)
            if resolved != entry { found.append("\(alias.kind):\(alias.value) has\n\(entry), not\n\(resolved)") }
        }
        return found
    }

    /// - Returns: the types of the changes.
    mutating func follow(limit: Int = 3) async throws -> [String] {
        var (types, hasMore): ([String], Bool) = ([], true)
        while hasMore {
            let page = try await registry.changes(after: position, limit: limit, in: scope)
            for change in page.changes {
                types.append(change.type)
                for alias in entries.keys where Self.isNamed(alias, by: change) || entries[alias]?.names(change) == true
                { entries[alias] = try await Self.resolve(alias, on: registry, in: scope) }
            }
            // Keeps only the position's text, like callers.
            position = try ChangePosition(page.position.text)
            hasMore = page.hasMore
        }
        return types
    }

    static func resolve(_ alias: Alias, on registry: Registry, in scope: Scope) async throws -> Entry {
        var entry = Entry()
        for found in try await registry.activities(under: alias, limit: 100, in: scope) {
            entry.activities.insert(
                .init(
                    id: found.activityID,
                    token: found.token,
                    installation: found.installation,
                    facts: found.facts,
                    startedAt: found.startedAt,
                    startsAt: found.startsAt,
                    expiresAt: found.expiresAt,
                    revision: found.revision
                )
            )
        }
        for kind in TokenKind.all where kind != .update {
            for found in try await registry.tokens(under: alias, kind, limit: 100, in: scope) {
                entry.tokens.insert(
                    .init(
                        kind: kind.name,
                        token: found.token,
                        installation: found.installation,
                        attributesType: found.attributesType
                    )
                )
            }
        }
        entry.channel = try await registry.channel(of: alias, in: scope)
        return entry
    }

    private static func isNamed(_ alias: Alias, by change: Change) -> Bool {
        if change.type == "erased" { return true }
        guard let aliases = change.aliases, case .object(let kinds)? = try? JSONParser.parse(aliases),
            case .array(let values)? = kinds[alias.kind.string]
        else { return false }
        return values.contains { value in
            guard case .string(let text) = value else { return false }
            return UTF8Text(text) == alias.value
        }
    }
}
