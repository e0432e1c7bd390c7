import Foundation
import PostgresDriver
import RegistryCore
import RegistryStore
import TestSupport
import Testing

/// The promise of the change feed: a cache that follows the feed and resolves the aliases of each change equals
/// resolve.
@Suite(.timeLimit(.minutes(150))) struct FollowingCacheTests {
    /// The number of lives in a group. An unrelated transaction is open during every other group.
    private static let groupSize: UInt64 = 25

    @Test func `A cache that only follows the feed equals resolve at every quiet point of random lives`() async throws {
        let troubled = try await TroubledDatabase.make()
        let elsewhere = try await TestDatabase.make(maximumConnections: 1, isAlone: true)
        var differences: [String] = []
        let all = Self.seeds
        for (index, first) in stride(from: all.lowerBound, through: all.upperBound, by: Int(Self.groupSize))
            .enumerated()
        {
            let seeds = first...min(all.upperBound, first + Self.groupSize - 1)
            // A backup or a forgotten session may keep a transaction open for hours.
            let idle: SQL = "SELECT pg_current_xact_id()"
            let open = index.isMultiple(of: 2) ? nil : try await HeldTransaction(idle, in: elsewhere)
            differences += try await Self.lives(seeds, troubled)
            try await open?.release()
        }
        // Test reports truncate long histories.
        for difference in differences { print(difference) }
        #expect(differences.isEmpty, "the histories are printed; PUSHREG_FEED_SEED=7-7 repeats the history of seed 7")
        let (undone, broken, lives) = (try await troubled.undone, troubled.broken, all.count)
        #expect(lives < 100 || (undone > lives / 10 && broken > lives / 10), "too few commits and connections failed")
        print(
            "figure: \(lives) lives, \(undone) commits undone, \(broken) connections broken,",
            "\(differences.count) lines of differences"
        )
    }

    private static var seeds: ClosedRange<UInt64> {
        let bounds = ProcessInfo.processInfo.environment["PUSHREG_FEED_SEED"]?.split(separator: "-").compactMap {
            UInt64($0)
        }
        if let bounds, let first = bounds.first, let last = bounds.last, first <= last { return first...last }
        return 0...(TestScale.isLong ? 9_999 : 149)
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
                        while try await player.play(call).answers[0] == .problem(.unavailable) {}
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
private func untilAnswered<Value>(_ body: () async throws -> Value) async throws -> Value {
    while true {
        do { return try await body() } catch let problem as Problem where problem.code == .unavailable {}
    }
}
