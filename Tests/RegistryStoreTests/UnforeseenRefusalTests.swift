import Foundation
import PostgresDriver
import RegistryCore
import RegistryRules
import RegistryStore
import TestSupport
import Testing

/// Where a statement touches nothing, for no cause that Postgres knows of, nobody is told that it is done, nor that
/// something was erased.
@Suite struct UnforeseenRefusalTests {
    /// A call that writes, and the table of which its first statement touches nothing.
    struct Call: CustomTestStringConvertible {
        let table: String
        let name: String
        let make: @Sendable (Registry, Scope) async throws -> Void

        var testDescription: String { "\(name), \(table)" }
    }

    @Test("A refusal that nobody foresaw is told as a fault", arguments: calls) func isToldAsAFault(_ call: Call)
        async throws
    {
        let database = try await TestDatabase.make()
        let scope = try await database.scope()
        try await database.pool.withSession { session in
            try session.simple(
                """
                CREATE FUNCTION skip() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
                CREATE TRIGGER skip BEFORE INSERT OR UPDATE ON \(call.table) FOR EACH ROW EXECUTE FUNCTION skip()
                """
            )
        }
        let problem = await #expect(throws: Problem.self) { try await call.make(database.registry, scope) }
        #expect(problem?.code == .internalError)
        // The control: without the trigger it is done.
        try await database.pool.withSession { try $0.simple("DROP TRIGGER skip ON \(call.table)") }
        try await call.make(database.registry, scope)
    }

    private static let id = ActivityID.sample("activity")
    private static let alias = Alias.sample("orderId", "42")
    private static let phone = InstallationHash.sample(7)
    private static let start = TokenSlot.start(AttributesType(stored: "Match"))

    private static func registration(_ minutes: Double?) -> ActivityRegistration {
        .sample(token: .sample(1), observedAt: minutes.map(Date.minutesAgo), installation: phone)
    }

    private typealias Making = @Sendable (Registry, Scope) async throws -> Void

    private static let fullState: Making = { registry, scope in
        let item = FullState.Item(activityID: id, registration: registration(1))
        let state = FullState(observedAt: .minutesAgo(1), items: [item])
        _ = try await registry.apply(state, of: phone, in: scope, by: "test")
    }

    private static let put: Making = { registry, scope in
        let profile = InstallationProfile(aliases: try AliasSet([alias]), observedAt: .minutesAgo(1))
        _ = try await registry.put(profile, for: phone, in: scope, by: "test")
    }

    private static func registerToken(in slot: TokenSlot) -> Making {
        { registry, scope in
            let registration = TokenRegistration(token: .sample(2))
            _ = try await registry.register(registration, in: slot, of: phone, in: scope, by: "test")
        }
    }

    private static func deleteToken(in slot: TokenSlot) -> Making {
        { try await $0.deleteToken(in: slot, of: phone, observedAt: nil, in: $1, by: "test") }
    }

    private static let putChannel: Making = { registry, scope in
        let channel = try BroadcastChannel(id: "AAAA", storagePolicy: .none)
        _ = try await registry.put(channel, for: alias, in: scope, by: "test")
    }

    private static let calls: [Call] = [
        Call(table: "installations", name: "full state", make: fullState),
        Call(table: "installations", name: "put", make: put),
        Call(table: "installations", name: "start token", make: registerToken(in: start)),
        Call(table: "installations", name: "device token", make: registerToken(in: .only(.device))),
        Call(table: "installations", name: "deletion of a token", make: deleteToken(in: start)),
        Call(table: "installations", name: "log-out") {
            try await $0.logOut(phone, observedAt: nil, in: $1, by: "test")
        },
        Call(table: "installation_tokens", name: "start token", make: registerToken(in: start)),
        Call(table: "installation_tokens", name: "deletion of a token", make: deleteToken(in: start)),
        Call(table: "installation_tokens", name: "device token", make: registerToken(in: .only(.device))),
        Call(table: "installation_tokens", name: "deletion of a device token", make: deleteToken(in: .only(.device))),
        Call(table: "channel_quotas", name: "channel", make: putChannel),
        Call(table: "channel_quotas", name: "deletion of a channel") {
            try await $0.deleteChannel(of: alias, in: $1, by: "test")
        },
        Call(table: "erasures", name: "erasure") { _ = try await $0.erase(.alias(alias), in: $1, by: "test") },
    ]
}
