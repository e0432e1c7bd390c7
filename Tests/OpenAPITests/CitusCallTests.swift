import Foundation
import PostgresDriver
import RegistryCore
import TestSupport
import Testing

@testable import RegistryServer

/// If Postgres has the extension citus, a coordinator with two workers answers every call like a single Postgres.
@Suite(.timeLimit(.minutes(15))) struct CitusCallTests {
    /// Two apps on different workers.
    private static let bundleIDs = [Message.bundleID, "com.example.second"]

    @Test func `Each call about each of two apps gets the same response on Citus and on one Postgres`() async throws {
        guard try await CitusCluster.isAvailable else {
            print("left out: this Postgres has no extension citus")
            return
        }
        let one = try await TestDatabase.make(on: TestCluster.shared)
        let many = try await TestDatabase.make(on: CitusCluster.shared)
        for database in [one, many] {
            try await TestKeys.shared.store(in: database.registry)
            for bundleID in Self.bundleIDs { _ = try await database.scope(bundleID) }
        }
        let calls = try Self.calls
        // Sweeps would run at different moments in the two databases.
        let rare = Duration.seconds(24 * 3600)
        let compared = try await ConformanceServer.run(one.registry, sweepInterval: rare) { plain in
            try await ConformanceServer.run(many.registry, sweepInterval: rare) { distributed in
                var compared = 0
                for bundleID in Self.bundleIDs {
                    for call in calls {
                        compared += 1
                        try await Self.compare(call, of: bundleID, plain, distributed)
                    }
                }
                return compared
            }
        }
        #expect(compared == 2 * calls.count)
        let nodes = try await many.count(
            """
            SELECT count(DISTINCT p.nodename) FROM apps a JOIN scopes s ON s.app_id = a.app_id
            JOIN citus_shards p ON p.shardid = get_shard_id_for_distribution_column('activities', s.scope_id)
            WHERE a.bundle_id = ANY(\(Self.bundleIDs))
            """
        )
        print("figure: \(compared) calls answered on Citus as on one Postgres, of apps on \(nodes) workers")
    }

    /// Every probe, and a second valid request to each operation.
    private static var calls: [Probe] {
        get throws {
            Probe.specific
                + (try APIDocument.embedded.operations.map { operation in
                    try #require(Probe.sound(operation.id), "\(operation.id) has no probe")
                })
        }
    }

    private static func compare(
        _ call: Probe,
        of bundleID: String,
        _ plain: ConformanceServer,
        _ distributed: ConformanceServer
    ) async throws {
        for message in call.preparation + [call.message] {
            let message = message.about(bundleID)
            let (expected, given) = (try await plain.send(message), try await distributed.send(message))
            let text = given.text.prefix(1000)
            let name = "\(bundleID), \(call): \(message.method) \(message.target)"
            #expect(given.status == expected.status, "\(name): \(text)")
            #expect(given.mediaType == expected.mediaType, "\(name)")
            // Metrics also count other work of this process.
            guard expected.mediaType != "text/plain", !expected.body.isEmpty, !given.body.isEmpty else { continue }
            let (answer, model) = (try given.values().map(\.comparable), try expected.values().map(\.comparable))
            #expect(answer == model, "\(name): \(Self.difference("\(answer)", "\(model)"))")
        }
    }

    private static func difference(_ one: String, _ other: String) -> String {
        let start = max(0, one.commonPrefix(with: other).count - 120)
        return [one, other].map { String($0.dropFirst(start).prefix(360)) }.joined(separator: "\n      instead of\n")
    }
}

extension Message {
    fileprivate func about(_ bundleID: String) -> Message {
        var message = self
        message.target.replace(Message.bundleID, with: bundleID)
        let text = body.map { String(decoding: $0, as: UTF8.self).replacing(Message.bundleID, with: bundleID) }
        message.body = text.map { Array($0.utf8) }
        return message
    }
}

extension JSONValue {
    /// Members with random values or positions in one database.
    private static let own: Set<String> = [
        "requestId", "cursor", "nextCursor", "after", "key", "leaseId", "startLatency", "schemaVersion", "before",
    ]

    /// Without values that differ between two servers.
    fileprivate var comparable: JSONValue {
        switch self {
        case .object(let members):
            var comparable = JSONObject()
            for (key, value) in members.map({ ($0.key, $0.value) }) {
                comparable[key] = Self.own.contains(key) ? "own" : value.comparable
            }
            return .object(comparable)
        case .array(let values): return .array(values.map(\.comparable))
        case .string(let text):
            let pattern = #/\d{4}-\d\d-\d\dT[0-9:.]+Z|pr[a-z]_[A-Za-z0-9]{12}|[0-9a-z]{12}-[0-9a-z]{16}/#
            return .string(text.replacing(pattern, with: "own"))
        default: return self
        }
    }
}
