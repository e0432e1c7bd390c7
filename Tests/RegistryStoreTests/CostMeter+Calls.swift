import Foundation
import PostgresDriver
import RegistryCore
import TestSupport
import Testing

@testable import RegistryStore

/// The calls that are measured.
extension CostMeter {
    static let phone = InstallationHash.sample(1)

    func register(_ token: PushToken, of installation: InstallationHash) async throws {
        _ = try? await database.registry.register(
            TokenRegistration(token: token),
            in: TestInstallation.device,
            of: installation,
            in: scope,
            by: "test"
        )
    }

    /// A plan that has some entry.
    func plan(_ alias: Alias, limit: Int) async throws {
        var request = PlanRequest(alias: alias, to: [alias], attributesType: TestInstallation.types[1])
        request.limit = limit
        let page = try await database.registry.plan(request, in: scope, by: "sender")
        #expect(!page.entries.isEmpty)
    }

    func put(_ aliases: [Alias], of installation: InstallationHash) async throws {
        let profile = InstallationProfile(aliases: try AliasSet(aliases))
        _ = try await database.registry.put(profile, for: installation, in: scope, by: "test")
    }

    func reportSharedToken() async throws {
        let report = FeedbackReport(token: .sample(7), status: 400, reason: "BadDeviceToken")
        let outcome = try await database.registry.apply([report], in: scope, by: "sender")
        #expect(outcome.actions == [.quarantined])
    }

    /// A full state of now, of activities that are new.
    func applyFullState(listing count: Int, of installation: InstallationHash) async throws {
        let items = (0..<count).map {
            FullState.Item(activityID: .sample("new-\($0)"), registration: .sample(token: .random))
        }
        let state = FullState(observedAt: .minutesAgo(0), items: items)
        _ = try await database.registry.apply(state, of: installation, in: scope, by: "test")
    }

    func digest(of token: PushToken) async throws -> [UInt8] {
        try await database.pool.withSession { session in
            try session.execute("SELECT sha256(\(token.bytes))")[0].decode([UInt8].self)
        }
    }
}

extension PushToken {
    /// One that nobody has.
    static var random: PushToken {
        PushToken(bytes: (0..<32).map { _ in UInt8.random(in: .min ... .max) })
    }
}
