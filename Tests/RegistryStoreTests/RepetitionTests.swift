import Foundation
import PostgresDriver
import RegistryCore
import TestSupport
import Testing

/// R1: a repetition writes again, because the commit may have been lost with its response.
@Suite struct RepetitionTests {
    private let t0 = Date.minutesAgo(60)

    @Test(arguments: [TestInstallation.delivery, TestInstallation.device, TestInstallation.widget])
    func `Every acknowledged repetition writes`(_ slot: TokenSlot) async throws {
        let phone = try await TestInstallation.make()
        let activity = phone.activity("a")
        var seen: Set<String> = []
        let calls: [(String, () async throws -> Void)] = [
            ("activities", { try await activity.register(1, at: t0) }), ("activities", { try await activity.end() }),
            ("installation_tokens", { try await phone.register(2, in: slot, at: t0) }),
            ("installation_tokens", { try await phone.delete(slot, at: t0 + 60) }),
            ("installations", { try await phone.logOut(at: t0 + 60) }),
            ("installations", { try await phone.put([], at: t0 + 120) }),
        ]
        for (table, call) in calls {
            for _ in 0..<3 {
                try await call()
                seen.formUnion(try await phone.column("SELECT touched_at::text FROM \(unescaped: table)"))
            }
        }
        #expect(seen.count == 18)
        #expect(try await activity.events() == ["registered", "ended"])
        #expect(try await phone.events() == ["registered", "deleted", "logged-out", "installation-changed"])
    }
}
