import HTTPTypes
import PostgresDriver
import RegistryCore
import TestSupport
import Testing

@testable import RegistryServer

@Suite(.secureService, .timeLimit(.minutes(15))) struct AuditCallTests {
    private static let alias = "kind=liveactivityId&value=order-42"

    @Test func `The audit explains, purges, and lists callers and their changes`() async throws {
        let (auditor, admin) = (try await server.key(.auditor).fields, try await server.key(.admin))
        let phone = try await server.key(.client).fields
        let body: JSONValue = [
            "token": .token(1), "observedAt": .minutesAgo(9), "installationId": "phone-1",
            "aliases": ["liveactivityId": "order-42"],
        ]
        #expect(try await server.call(.put, "…/activities/a", body, phone).status == 201)
        func explained() async throws -> JSONValue {
            try await server.call(.get, "…/audit/explain?\(Self.alias)", nil, auditor)["activities"][0]["reason"]
                ?? .null
        }
        #expect(try await explained() == "handed-out")
        try await database.execute("UPDATE activities SET confirmed_at = now() - interval '3 hours'")
        let stale = try await server.call(.get, "…/audit/stale?unconfirmedFor=PT2H", nil, auditor)
        #expect(stale["tokens"][0]["reasons"]?[0]["reason"] == "unconfirmed")
        let refused = try await server.call(.post, "…/audit/stale/purge", [:], auditor)
        #expect(refused.problem == "forbidden")
        let dry = try await server.call(.post, "…/audit/stale/purge", [:], admin.fields)
        #expect(dry["matched"] == 1)
        #expect(dry["dryRun"] == true)
        #expect(try await explained() == "handed-out")
        let purged = try await server.call(.post, "…/audit/stale/purge", ["dryRun": false], admin.fields)
        #expect(purged["purged"] == 1)
        #expect(try await explained() == "purged")
        let late = try await server.call(.put, "…/activities/a", body, phone)
        #expect(late.problem == "token-unregistered")
        #expect(late["reason"] == "purged")
        // By the installation's id; the database has only its hash.
        let events = try await server.call(.get, "…/audit/events?installationId=phone-1", nil, auditor)
        #expect(events["events"].all("type") == ["purged", "registered"])
        #expect(events["events"][0]["who"] == .string(admin.key.id.rawValue))
        let statistics = try await server.call(.get, "…/stats", nil, auditor)
        #expect(statistics["activities"] == ["active": 1])
        #expect(statistics["estimated"] == false)
        let token = Hexadecimal.encode(PushToken.sample(1).bytes)
        for reply in [stale, dry, events, statistics] {
            #expect(!reply.text.contains(token))
        }
    }
}
