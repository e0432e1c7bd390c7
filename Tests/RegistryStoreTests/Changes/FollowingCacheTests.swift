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
