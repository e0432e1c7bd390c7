import RegistryCore
import RegistryRules
import RegistryStore
import TestSupport
import Testing

/// A write that changes no row for an unknown reason fails. It is not reported as done or erased.
@Suite struct UnforeseenRefusalTests {
    struct Call: CustomTestStringConvertible {
        let table: String
        let name: String
        let make: @Sendable (Registry, Scope) async throws -> Void

        var testDescription: String { "\(name), \(table)" }
    }

    @Test(arguments: calls) func `An unforeseen refusal is reported as a fault`(_ call: Call) async throws {
        let database = try await TestDatabase.make()
        let scope = try await database.scope()
        try await database.script(
            """
            CREATE FUNCTION skip() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
            CREATE TRIGGER skip BEFORE INSERT OR UPDATE ON \(call.table) FOR EACH ROW EXECUTE FUNCTION skip()
            """
        )
        let problem = await #expect(throws: Problem.self) { try await call.make(database.registry, scope) }
        #expect(problem?.code == .internalError)
        // The control: without the trigger the call succeeds.
        try await database.script("DROP TRIGGER skip ON \(call.table)")
        try await call.make(database.registry, scope)
    }

    private static let alias = Alias.sample("orderId", "42")

    private typealias Making = @Sendable (Registry, Scope) async throws -> Void

    private static let putChannel: Making = { registry, scope in
        let channel = try BroadcastChannel(id: "AAAA", storagePolicy: .none)
        _ = try await registry.put(channel, for: alias, in: scope, by: "test")
    }

    private static let calls: [Call] = [
        Call(table: "channel_quotas", name: "channel", make: putChannel),
        Call(table: "channel_quotas", name: "deletion of a channel") {
            try await $0.deleteChannel(of: alias, in: $1, by: "test")
        },
        Call(table: "erasures", name: "erasure") { _ = try await $0.erase(.alias(alias), in: $1, by: "test") },
    ]
}
