import Foundation
import HTTPTypes
import PostgresDriver
import RegistryCore
import TestSupport
import Testing

@testable import RegistryServer

/// The audit over HTTP: pages, cursors, masked tokens for everyone.
@Suite(.timeLimit(.minutes(15))) struct AuditCallTests {
    private static let alias = "kind=liveactivityId&value=order-42"

    @Test("The audit explains, purges, and tells who did what") func explainsPurgesAndTellsWhoDidWhat() async throws {
        let database = try await TestDatabase.make()
        _ = try await database.scope()
        try await LiveServer.run(on: database.registry, insecureNoAuth: false) { server in
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
            _ = try await database.pool.withSession { session in
                try session.execute("UPDATE activities SET confirmed_at = now() - interval '3 hours'").count
            }
            let stale = try await server.call(.get, "…/audit/stale?unconfirmedFor=PT2H", nil, auditor)
            #expect(stale["tokens"][0]["reasons"]?[0]["reason"] == "unconfirmed")
            let refused = try await server.call(.post, "…/audit/stale/purge", [:], auditor)
            #expect(refused.problem == "forbidden")
            let dry = try await server.call(.post, "…/audit/stale/purge", [:], admin.fields)
            #expect(dry["matched"] == 1 && dry["dryRun"] == true)
            #expect(try await explained() == "handed-out")
            let purged = try await server.call(.post, "…/audit/stale/purge", ["dryRun": false], admin.fields)
            #expect(purged["purged"] == 1)
            #expect(try await explained() == "purged")
            let late = try await server.call(.put, "…/activities/a", body, phone)
            #expect(late.problem == "token-unregistered" && late["reason"] == "purged")
            // By the installation's id, of which only the hash is stored.
            let events = try await server.call(.get, "…/audit/events?installationId=phone-1", nil, auditor)
            #expect(events["events"].all("type") == ["purged", "registered"])
            #expect(events["events"][0]["who"] == .string(admin.key.id.rawValue))
            let statistics = try await server.call(.get, "…/stats", nil, auditor)
            #expect(statistics["activities"] == ["active": 1] && statistics["estimated"] == false)
            let token = Hexadecimal.encode(PushToken.sample(1).bytes)
            for reply in [stale, dry, events, statistics] {
                #expect(!String(decoding: reply.bytes, as: UTF8.self).contains(token))
            }
        }
    }

    @Test("Cursors belong to their filters") func cursorsBelongToTheirFilters() async throws {
        try await LiveServer.run { server in
            for number in 0..<5 { try await server.register("a-\(number)", token: number) }
            for (path, items, filter) in [
                ("…/audit/events?limit=2", "events", "type=registered"),
                ("…/audit/explain?\(Self.alias)&limit=2", "activities", ""),
            ] {
                var (found, cursor): ([JSONValue], String?) = ([], "")
                while let current = cursor {
                    let page = try await server.call(.get, path + (current.isEmpty ? "" : "&cursor=\(current)"))
                    found += page[items].all("activityId")
                    if case .string(let next) = page["nextCursor"] { cursor = next } else { cursor = nil }
                    guard !filter.isEmpty, let next = cursor else { continue }
                    let other = try await server.call(.get, "\(path)&\(filter)&cursor=\(next)")
                    #expect(other.problem == "invalid-cursor /cursor")
                }
                #expect(found.count == 5 && Set(found).count == 5)
            }
        }
    }
}
