import Foundation
import RegistryCore
import TestSupport
import Testing

@testable import RegistryStore

extension CostTable {
    typealias Make = @Sendable (CostMeter) async throws -> Void

    static let phone = InstallationHash.sample(1)
    static let alias = Alias.sample("liveactivityId", "match-7")

    static func report(_ token: @escaping @Sendable (Int) -> Int) -> Make {
        { meter in
            let reports = (1...meter.count).map { number in
                FeedbackReport(
                    token: .sample(token(number)),
                    status: number % 2 == 0 ? 410 : 200,
                    timestamp: .minutesAgo(Double(number) / 1000)
                )
            }
            _ = try await meter.registry.apply(reports, in: meter.scope, by: "sender")
        }
    }

    static func resolve(_ value: @escaping @Sendable (Int) -> String) -> Make {
        { meter in
            let aliases = (1...meter.count).map { Alias.sample("orderId", value($0)) }
            let found = try await meter.registry.resolve(aliases, limitPerAlias: 10, in: meter.scope)
            #expect(found.map(\.activities.count).reduce(0, +) == meter.count)
        }
    }

    /// Like an import: many concurrent requests, in batches of any size.
    static func register(_ activity: @escaping @Sendable (Int) -> Int) -> Make {
        { meter in
            await withTaskGroup(of: Void.self) { group in
                for number in 1...meter.count {
                    group.addTask {
                        _ = try? await meter.activity("new-\(activity(number))").register(
                            number,
                            at: .minutesAgo(Double(10_000 - number) / 100),
                            aliases: [.sample("orderId", "\(activity(number))")]
                        )
                    }
                }
            }
        }
    }

    static func fullState(activity: @escaping @Sendable (Int) -> Int, token: @escaping @Sendable (Int) -> Int) -> Make {
        { meter in
            let items = (1...meter.count).map { number in
                FullState.Item(
                    activityID: .sample("new-\(activity(number))"),
                    registration: .sample(token: .sample(token(number)))
                )
            }
            let answer = try await meter.tellFullState(of: phone, items, at: .minutesAgo(1))
            #expect(answer.results.count == meter.count)
        }
    }

    static func events(_ change: @escaping @Sendable (inout EventFilter) -> Void) -> Make {
        { meter in
            var filter = EventFilter()
            change(&filter)
            let found = try await meter.registry.events(filter, limit: 100, in: meter.scope)
            #expect(!found.items.isEmpty)
        }
    }

    static let endAll: Make = { meter in
        let ended = try await meter.registry.endAll(under: alias, in: meter.scope, by: "test")
        #expect(ended == meter.count)
    }

    static func sweep(_ task: SweepTask) -> Make {
        { meter in
            let swept = try await meter.registry.sweep(task, limit: meter.count, in: meter.scope)
            #expect(swept == meter.count)
        }
    }

    static func erase(_ subject: ErasureSubject) -> Make {
        { meter in
            let counts = try await meter.erase(subject)
            #expect(counts.activities + counts.records >= meter.count)
        }
    }

    /// Twenty days old, and ended for longer than the tombstone retention.
    static let addTombstones: Make = { meter in
        try await meter.addActivities(under: alias, 20 * 24 * 60)
        _ = try await meter.registry.sweep(.expiry, limit: meter.count, in: meter.scope)
        try await meter.database.script("UPDATE activities SET touched_at = earlier(touched_at, '20 days')")
    }
}

extension CostMeter {
    func addActivities(
        of installation: InstallationHash? = nil,
        under alias: Alias? = nil,
        _ minutes: Double = 1
    ) async throws {
        try await database.addActivities(1...count, of: installation, under: alias, at: .minutesAgo(minutes), in: scope)
    }

    func addInstallations(startToken: PushToken?) async throws {
        try await database.addInstallations(1...count, under: CostTable.alias, startToken: startToken, in: scope)
    }

    func registerDeviceToken(_ token: Int) async {
        _ = try? await installation(1).register(token, in: TestInstallation.device, at: nil)
    }

    func plan(limit: Int) async throws {
        var request = PlanRequest(
            alias: CostTable.alias,
            to: [CostTable.alias],
            attributesType: TestInstallation.types[1]
        )
        request.limit = limit
        let page = try await registry.plan(request, in: scope, by: "sender")
        #expect(!page.entries.isEmpty)
    }

    func reportSharedToken() async throws {
        #expect(try await suspect([7]) == [.quarantined])
    }

    func applyFullState(listing count: Int) async throws {
        let items = (0..<count).map {
            FullState.Item(activityID: .sample("new-\($0)"), registration: .sample(token: .sample(1 << 30 + $0)))
        }
        try await tellFullState(of: CostTable.phone, items, at: .minutesAgo(0))
    }

    func useName(_ registrations: Int, endEvery interval: Int = 20, isTimed: Bool) async throws {
        let identity = identity("match-7")
        for number in 1...registrations {
            _ = try? await identity.post(.random(in: 1..<1 << 40), at: isTimed ? .minutesAgo(0) : nil)
            if number % interval == 0 { try await identity.end(at: isTimed ? .minutesAgo(0) : nil) }
        }
    }
}
