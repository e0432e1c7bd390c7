import Foundation
import HTTPTypes
import RegistryStore
import TestSupport
import Testing

@testable import RegistryCore
@testable import RegistryServer

@Suite(.timeLimit(.minutes(15))) struct KeyCallTests {
    private static let path = "/v1/apps/com.example.food/keys"

    @Test(.secureService) func `A key is created, used, listed and revoked`() async throws {
        let admin = try await server.key(.admin)
        let body: JSONValue = ["role": "sender", "expiresIn": "P90D"]
        let made = try await server.call(.post, Self.path, body, admin.fields)
        #expect(made.status == 201 && made.fields[.cacheControl] == "no-store")
        let (text, id) = (try #require(made["key"].string), try #require(made["id"].string))
        let sender: HTTPFields = [.authorization: "bearer  \(text)"]
        #expect(try await server.call(.get, "…/activities/none", nil, sender).problem == "activity-not-found")
        let listed = try await server.call(.get, Self.path, nil, admin.fields)
        #expect(listed["keys"].all("id") == [.string(admin.id.rawValue), .string(id)])
        #expect(listed["keys"].all("key").allSatisfy(\.isNull) && listed["keys"][1]["expiresAt"] != nil)
        #expect(!listed.text.contains(text.suffix(30)))
        for _ in 0..<2 {
            #expect(try await server.call(.delete, "\(Self.path)/\(id)", nil, admin.fields).status == 204)
        }
        #expect(try await server.call(.get, "…/activities/none", nil, sender).problem == "unauthenticated")
        #expect(try await server.call(.get, Self.path, nil, admin.fields)["keys"][1]["revokedAt"] != nil)
        for unknown in ["x", "%2E"] {
            let reply = try await server.call(.delete, "\(Self.path)/\(unknown)", nil, admin.fields)
            #expect(reply.problem == "key-not-found")
        }
    }

    /// A key with a correct checksum.
    private static func sealed(_ body: String) -> String { body + Base62.sixDigits(CRC32.checksum(body.utf8)) }

    private static func forgeries(_ mine: APIKey, _ other: APIKey) -> [String] {
        let (text, secret) = (mine.text.revealed, mine.secret.revealed)
        let digits = mine.id.rawValue.dropFirst(4)
        let raised = ["prs_", "pru_", "pra_", "prr_", "prx_", "PRC_"].map { sealed("\($0)\(digits)_\(secret)") }
        return raised + [
            sealed("\(mine.id)_\(other.secret.revealed)"), sealed("\(other.id)_\(secret)"),
            sealed("\(mine.id)_\(secret.reversed().map(String.init).joined())"),
            sealed("\(mine.id)_\(secret.uppercased())"),
            sealed("\(mine.id)_\(secret.dropLast())"), sealed("\(mine.id)_\(secret)0"), sealed("\(mine.id)_"),
            sealed("\(mine.id)_\(String(repeating: "0", count: 24))"), sealed("\(mine.id)-\(secret)"),
            APIKey(random: .client).text.revealed, APIKey(random: .root).text.revealed, mine.id.rawValue, secret,
            String(text.dropLast()), String(text.dropFirst()), text + "0", text.lowercased(), text + "," + text,
            "\(text) \(text)", "%20" + text, Hexadecimal.encode(mine.secretDigest),
        ]
    }

    @Test(.secureService) func `Every forged key is refused`() async throws {
        let (mine, other) = try await (server.key(.client), server.key(.client))
        let text = mine.text.revealed
        let headers = ["Basic \(text)", text, "Bearer\(text)", "Token \(text)", "Bearer:\(text)", "Bearer, \(text)"]
        for header in Self.forgeries(mine, other).map({ "Bearer \($0)" }) + headers + ["Bearer \(text)"] {
            let fields: HTTPFields = [.authorization: header, .installationID: "x"]
            let reply = try await server.call(.put, "…/activities/a", ["token": "00"], fields)
            #expect(reply.problem == (header == "Bearer \(text)" ? "" : "unauthenticated"), "\(header)")
        }
    }

    @Test(.timedService()) func `A key that expired or was revoked on another instance is refused`() async throws {
        let (here, clock, path) = (server, RegistryServerTests.clock, "…/activities/none")
        let (sender, admin) = try await (here.key(.sender), here.key(.admin))
        let short = try await here.key(.sender, expiresAt: clock.now.addingTimeInterval(2))
        try await ServiceTrait.secureService.run(on: database.anotherRegistry()) { there in
            for key in [sender, short] { #expect(try await here.call(.get, path, nil, key.fields).status == 404) }
            let revoked = try await there.call(.delete, "\(Self.path)/\(sender.id)", nil, admin.fields)
            #expect(revoked.status == 204)
            #expect(try await there.call(.get, path, nil, sender.fields).status == 401)
            // This instance may accept the key for less than five seconds.
            #expect(try await here.call(.get, path, nil, sender.fields).status == 404)
            clock.advance(by: .seconds(2))
            #expect(try await here.call(.get, path, nil, short.fields).status == 401)
            clock.advance(by: .seconds(2.9))
            #expect(try await here.call(.get, path, nil, sender.fields).status == 401)
        }
    }

    @Test(.timedService()) func `The last use is written once a minute`() async throws {
        let scope = try await database.scope()
        let admin = try await server.key(.admin)
        func use() async throws { _ = try await server.call(.get, Self.path, nil, admin.fields) }
        func lastUse() async throws -> Date? { try await database.registry.keys(of: scope.app).first?.lastUsedAt }
        func written(_ time: Date) async throws {
            while try await lastUse().map({ abs($0.timeIntervalSince(time)) > 0.001 }) ?? true { await Task.yield() }
        }
        let first = clock.now
        try await use()
        try await written(first)
        clock.advance(by: .seconds(59))
        try await use()
        clock.advance(by: .seconds(1))
        try await use()
        try await written(first.addingTimeInterval(60))
    }

    @Test func `Unknown ids are cached`() async throws {
        let (database, scope) = try await TestDatabase.withScope()
        let (clock, key) = (ManualClock(), try await database.registry.makeKey(.client, of: scope.app))
        let directory = KeyDirectory(registry: database.registry, clock: clock.clock)
        func isValid(_ key: APIKey) async throws -> Bool {
            try await directory.validKey(key.id) { $0.digest == key.secretDigest } != nil
        }
        func lookups() -> Int { database.registry.metrics.statements[.reads]?.snapshot.count ?? 0 }
        let (before, unknown) = (lookups(), APIKey(random: .client))
        for _ in 0..<1000 {
            #expect(try await isValid(key))
            #expect(try await !isValid(unknown))
        }
        #expect(lookups() == before + 2)
        clock.advance(by: KeyDirectory.lifetime)
        #expect(try await isValid(key))
        #expect(try await !isValid(unknown))
        #expect(lookups() == before + 4)
    }

    /// An instance that knew the app accepts its key for some seconds.
    @Test(.service) func `A deleted app's key does not create the app again`() async throws {
        let path = "/v1/apps/com.example.food"
        let admin = try await server.key(.admin)
        #expect(try await server.call(.put, path, ["name": "Food"], admin.fields).status == 200)
        #expect(try await server.call(.delete, path).status == 204)
        let again = try await server.call(.put, path, ["name": "Food"], admin.fields)
        #expect(again.status == 404 || again.status == 401)
        #expect(try await server.call(.get, path).problem == "unknown-app")
    }
}
