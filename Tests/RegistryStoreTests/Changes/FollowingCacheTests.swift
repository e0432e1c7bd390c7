import Foundation
import PostgresDriver
import RegistryCore
import Synchronization
import TestSupport
import Testing

@testable import RegistryStore

/// The promise of the change feed: a cache that follows the feed and resolves the aliases of each change equals resolve.
@Suite(.timeLimit(.minutes(150))) struct FollowingCacheTests {
    /// The number of lives in a group. An unrelated transaction is open during every other group.
    private static let groupSize: UInt64 = 25

    @Test func `A cache that only follows the feed equals resolve at every quiet point of random lives`() async throws {
        let troubled = try await TroubledDatabase.make()
        let elsewhere = try await TestDatabase.make(maximumConnections: 1, isAlone: true)
        var differences: [String] = []
        let (first, lives) = (SeededGenerator.firstSeed(), UInt64(TestScale.isLong ? 10_000 : 150))
        for (index, start) in stride(from: 0, to: lives, by: Int(Self.groupSize)).enumerated() {
            let seeds = first + start...first + min(lives, start + Self.groupSize) - 1
            // A backup or a forgotten session may keep a transaction open for hours.
            let idle: SQL = "SELECT pg_current_xact_id()"
            let open = index.isMultiple(of: 2) ? nil : try await HeldTransaction(idle, in: elsewhere)
            differences += try await Self.lives(seeds, troubled)
            try await open?.release()
        }
        // Test reports truncate long histories.
        for difference in differences { print(difference) }
        #expect(differences.isEmpty, "the histories are printed")
        let (undone, broken) = (try await troubled.undone, troubled.broken)
        #expect(min(undone, broken) > lives / 10, "too few commits and connections failed")
        print(
            "figure: \(lives) lives from seed \(first), \(undone) commits undone, \(broken) connections broken,",
            "\(differences.count) lines of differences"
        )
    }

    private static func lives(_ seeds: ClosedRange<UInt64>, _ troubled: TroubledDatabase) async throws -> [String] {
        try await withThrowingTaskGroup(of: [String].self) { group in
            var differences: [String] = []
            for seed in seeds {
                if seed >= seeds.lowerBound + 6 { differences += try await group.next() ?? [] }
                group.addTask { try await live(seed: seed, troubled) }
            }
            for try await found in group { differences += found }
            return differences
        }
    }

    private static func live(seed: UInt64, _ troubled: TroubledDatabase) async throws -> [String] {
        var generator = SeededGenerator(seed: seed)
        let registries = troubled.service.registries
        let player = try await untilAnswered { try await CallPlayer(troubled.service) }
        var cache = try await untilAnswered {
            try await FollowingCache(of: (0..<Names.aliases).map(CallPlayer.alias), on: registries[1], in: player.scope)
        }
        // Time passes for the registry and not for the cache.
        var rest = CallHistory(seed: seed, count: 34...34).calls.filter { ![.pass, .plan].contains($0.rule) }[...]
        var told: [String] = []
        while !rest.isEmpty {
            let calls = rest.prefix(told.count.isMultiple(of: 4) ? 3 : 1)
            rest = rest.dropFirst(calls.count)
            let isBroken = Int.random(in: 0..<8, using: &generator) == 0
            try await withThrowingTaskGroup(of: Void.self) { group in
                for (worker, call) in calls.enumerated() {
                    group.addTask {
                        var player = player
                        player.instance = worker
                        // Repeats the call unchanged while its outcome is unknown.
                        while try await player.play(call).answers[0] == .problem(.unavailable) { await Task.yield() }
                    }
                }
                if isBroken { group.addTask { try await troubled.breakConnection() } }
                try await group.waitForAll()
            }
            let types = try await untilAnswered { try await cache.follow() }
            told.append("\(calls): \(types)")
            let differences = try await untilAnswered { try await cache.differences(from: registries[0]) }
            if !differences.isEmpty { return ["seed \(seed):"] + differences + ["after"] + told }
        }
        return []
    }
}

/// Repeats `body` while Postgres is unavailable or its response is lost.
///
/// Yields, because the pool refuses at once until it has a connection again, and opening one needs a thread.
private func untilAnswered<Value>(_ body: () async throws -> Value) async throws -> Value {
    while true {
        do { return try await body() } catch let problem as Problem where problem.code == .unavailable {
            await Task.yield()
        }
    }
}

/// A sender's cache, which follows the change feed and resolves the aliases of each change.
struct FollowingCache {
    struct Entry: Hashable {
        var activities: Set<ResolvedActivity> = []
        var tokens: Set<ResolvedToken> = []
        var channel: BroadcastChannel?

        func names(_ change: Change) -> Bool {
            activities.contains {
                $0.activityID.rawValue == change.activityID
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

    /// Without the times of observations and confirmations, which change without an event.
    static func resolve(_ alias: Alias, on registry: Registry, in scope: Scope) async throws -> Entry {
        var entry = Entry()
        for found in try await registry.activities(under: alias, limit: 100, in: scope) {
            entry.activities.insert(
                ResolvedActivity(
                    key: 0,
                    activityID: found.activityID,
                    token: found.token,
                    installation: found.installation,
                    facts: found.facts,
                    startedAt: found.startedAt,
                    startsAt: found.startsAt,
                    observedAt: .distantPast,
                    confirmedAt: .distantPast,
                    expiresAt: found.expiresAt,
                    revision: found.revision
                )
            )
        }
        for kind in TokenKind.all where kind != .update {
            for found in try await registry.tokens(under: alias, kind, limit: 100, in: scope) {
                entry.tokens.insert(
                    ResolvedToken(
                        kind: kind,
                        token: found.token,
                        installation: found.installation,
                        attributesType: found.attributesType,
                        observedAt: .distantPast,
                        confirmedAt: .distantPast
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

/// Three instances of the service; some transactions roll back at their commit, and connections break during their use.
final class TroubledDatabase: Sendable {
    let service: CallService
    private let administration: TestDatabase
    private let count = Mutex(0)

    var broken: Int { count.withLock { $0 } }

    /// The number of transactions that rolled back at their commit. A rollback does not reset the sequence that counts them.
    var undone: Int { get async throws { try await service.database.count("SELECT nextval('undone') - 1") } }

    private init(_ service: CallService, _ administration: TestDatabase) {
        (self.service, self.administration) = (service, administration)
    }

    static func make() async throws -> TroubledDatabase {
        // Its own database, because any connection to it may break.
        let database = try await TestDatabase.make(isAlone: true)
        // Fails at the commit, after the transaction has got its event numbers. The service retries this serialization failure.
        try await database.script(
            """
            CREATE SEQUENCE undone;
            CREATE FUNCTION undo() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                IF random() < 0.02 THEN
                    PERFORM nextval('undone');
                    RAISE 'undone' USING ERRCODE = '40001';
                END IF;
                RETURN NULL;
            END $$;
            CREATE CONSTRAINT TRIGGER undo AFTER INSERT ON events DEFERRABLE INITIALLY DEFERRED
                FOR EACH ROW EXECUTE FUNCTION undo()
            """
        )
        let service = try await CallService(database, instances: 3, isSilent: true)
        return TroubledDatabase(service, try await TestDatabase.make(maximumConnections: 2))
    }

    func breakConnection() async throws {
        let name = try #require(service.database.connectionString.split(separator: "=").last).description
        let broken = try await administration.count(
            """
            SELECT count(*) FROM (
                SELECT pg_terminate_backend(busy.pid) FROM (
                    SELECT a.pid FROM pg_stat_activity a
                    WHERE a.datname = \(name) AND a.backend_type = 'client backend'
                    ORDER BY a.state = 'active' DESC, random() LIMIT 1
                ) AS busy
            ) AS broken
            """
        )
        count.withLock { $0 += broken }
    }
}
