import Foundation
import PostgresDriver
import RegistryCore
import RegistryStore
import TestSupport
import Testing

/// R1, R3, R8 and R11 for tokens of installations. Rules that are common to all kinds are tested on each kind.
@Suite struct InstallationTokenTests {
    private let t0 = Date.minutesAgo(60)

    private func after(_ minutes: Double) -> Date { t0.addingTimeInterval(minutes * 60) }

    static let slots = [TestInstallation.delivery, TestInstallation.device, TestInstallation.widget]

    @Test(arguments: slots)
    func `An installation's token is registered, rotated and refreshed`(_ slot: TokenSlot) async throws {
        let phone = try await TestInstallation.make()
        let first = try await phone.register(1, in: slot, at: t0)
        #expect(first.outcome == .registered)
        #expect(first.status.observedAt == t0)
        #expect(first.status.reason == nil)
        #expect(try await phone.register(2, in: slot, at: after(1)).outcome == .rotated)
        let refreshed = try await phone.register(2, in: slot, at: after(2))
        #expect(refreshed.outcome == .refreshed)
        #expect(refreshed.status.observedAt == after(2))
        #expect(try await phone.token(in: slot) == .sample(2))
        #expect(try await phone.events() == ["registered", "rotated"])
        let told: SQL = "SELECT token_fingerprint FROM events WHERE token_fingerprint IS NOT NULL ORDER BY event_number"
        let tokens = [1, 2].map { PushToken.sample($0).bytes }
        let expected: SQL = "SELECT substr(sha256(t), 1, 4) FROM unnest(\(tokens)) t"
        let fingerprints = try await phone.database.column(told, as: [UInt8].self)
        #expect(try await fingerprints == phone.database.column(expected, as: [UInt8].self))
    }

    @Test(arguments: slots)
    func `Without a time, a refresh changes only the time of confirmation`(_ slot: TokenSlot) async throws {
        let phone = try await TestInstallation.make()
        let first = try await phone.register(1, in: slot, at: t0)
        let second = try await phone.register(1, in: slot, at: nil)
        #expect(second.outcome == .refreshed)
        #expect(second.status.observedAt == t0)
        #expect(try #require(second.status.confirmedAt) > #require(first.status.confirmedAt))
        let other = try await phone.register(2, in: slot, at: nil)
        #expect(try #require(other.status.observedAt) > after(59))
    }

    @Test(arguments: slots)
    func `Every acknowledged repetition writes`(_ slot: TokenSlot) async throws {
        let phone = try await TestInstallation.make()
        var seen: Set<String> = []
        let calls: [(String, () async throws -> Void)] = [
            ("installation_tokens", { try await phone.register(1, in: slot, at: t0) }),
            ("installation_tokens", { try await phone.delete(slot, at: after(1)) }),
            ("installations", { try await phone.logOut(at: after(1)) }),
            ("installations", { try await phone.put([], at: after(2)) }),
        ]
        for (table, call) in calls {
            for _ in 0..<3 {
                try await call()
                seen.formUnion(try await phone.column("SELECT touched_at::text FROM \(unescaped: table)"))
            }
        }
        #expect(seen.count == 12)
        #expect(try await phone.events() == ["registered", "deleted", "logged-out", "installation-changed"])
    }

    @Test func `A deletion without a time removes records of a fast clock`() async throws {
        let phone = try await TestInstallation.make()
        try await phone.register(1, at: .minutesAgo(-4))
        try await phone.delete(at: nil)
        #expect(try await phone.token() == nil)
        // Without a time it counts as observed now, which is earlier.
        let problem = await phone.problem { try await phone.register(2, at: nil) }
        #expect(problem?.code == .superseded)
    }

    @Test(arguments: slots)
    func `Only a later claim revives a dead value`(_ slot: TokenSlot) async throws {
        let phone = try await TestInstallation.make()
        try await phone.register(1, in: slot, at: t0)
        try await phone.mark(1, dead: after(1))
        #expect(try await phone.token(in: slot) == nil)
        for time in [t0, after(0.5), after(1), nil] {
            let problem = await phone.problem { try await phone.register(1, in: slot, at: time) }
            #expect(problem?.code == .tokenUnregistered)
            #expect(problem?.token?.reason == "unregistered")
        }
        // The refused claim was merged: the claim of minute 1 counts.
        #expect(try await phone.record()?.tokens.first?.observedAt == after(1))
        #expect(try await phone.record()?.tokens.first?.reason == "unregistered")
        #expect(try await phone.register(1, in: slot, at: after(2)).outcome == .reactivated)
        #expect(try await phone.token(in: slot) == .sample(1))
        #expect(try await phone.events() == ["registered", "reactivated"])
    }

    @Test(arguments: slots)
    func `A later claim or a release ends a quarantine`(_ slot: TokenSlot) async throws {
        let phone = try await TestInstallation.make()
        try await phone.register(1, in: slot, at: t0)
        try await phone.mark(1, quarantined: after(1))
        #expect(try await phone.token(in: slot) == nil)
        #expect(try await phone.register(1, in: slot, at: after(0.5)).status.reason == "quarantined")
        #expect(try await phone.register(1, in: slot, at: after(2)).outcome == .reactivated)
        #expect(try await phone.token(in: slot) == .sample(1))
        try await phone.mark(1, quarantined: after(3))
        try await phone.release(slot)
        try await phone.release(slot)
        #expect(try await phone.token(in: slot) == .sample(1))
        #expect(try await phone.events() == ["registered", "reactivated", "released"])
        try await phone.delete(slot, at: nil)
        #expect(await phone.problem { try await phone.release(slot) }?.code == .tokenNotFound)
    }

    /// A claim is the lesser of observedAt and the receipt, so a fast clock cannot outlive a 410.
    @Test func `Claims are never later than their receipt`() async throws {
        let phone = try await TestInstallation.make()
        try await phone.register(1, at: .minutesAgo(-4))
        try await phone.mark(1, dead: .minutesAgo(-1))
        #expect(try await phone.token() == nil)
    }
}
