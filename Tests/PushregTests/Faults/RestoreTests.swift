import Foundation
import PostgresDriver
import RegistryCore
import RegistryStore
import TestSupport
import Testing

/// The guide's point-in-time recovery: a base backup, the WAL archive, and the steps afterwards.
@Suite(.serialized, .timeLimit(.minutes(15))) struct RestoreTests {
    private static let guide = "Sources/WebAssets/Documentation.docc/BackupAndRestore.md"
    private static let production = "/v1/apps/com.example.food/production"

    @Test func `After a restore to a point in time the registry answers, and the guide's recipe completes it`()
        async throws
    {
        let place = try RestorePlace()
        let cluster = FaultCluster(settings: place.archiving)
        let url = try await cluster.start()
        let service = try await ServiceProcess.start(databaseURL: url)
        try await service.makeApp()
        _ = try await service.register("in-the-backup", number: 1)
        try await place.backUp(url)

        // After the backup and before the target time: only in the archive.
        _ = try await service.register("in-the-archive", number: 2)
        _ = try await service.register("ended-later", number: 3)
        try await place.importUser(into: url)
        let key = try await Self.makeKey(service)
        let before = try await Self.position(service)
        let moment = try await place.ask(url, "SELECT clock_timestamp()")

        try await Self.expect(204, service, "DELETE", "…/activities/ended-later")
        try await Self.expect(201, service, "PUT", "…/activities/lost", #"{"token":"ab"}"#)
        try await Self.expect(204, service, "DELETE", "/v1/apps/com.example.food/keys/\(key.id)")
        let erasure = try #require(
            try await DocumentedCommand.all(of: Self.guide).map(\.text).first { $0.hasPrefix("pushreg erase") }
        )
        try await place.run(erasure, on: url)
        #expect(try await Self.tokensOfUser(service) == 0)
        let after = try await Self.position(service)
        try await place.archiveAll(url)
        await service.stop()
        await cluster.crash()

        let restored = FaultCluster(settings: place.recovery(to: moment), in: place.restored)
        let newURL = try await restored.start()
        try await until(.seconds(60)) { try await place.ask(newURL, "SELECT pg_is_in_recovery()") == "f" }
        try await place.run("pushreg migrate status", on: newURL)
        // Callers have no access yet. The erased user is back until the erasure is repeated.
        let erased = "SELECT count(*) FROM activities WHERE subject = 'u-7'"
        #expect(try await place.ask(newURL, erased) == "1")
        try await place.run(erasure, on: newURL)
        #expect(try await place.ask(newURL, erased) == "0")
        try await place.run("pushreg keys revoke \(key.id)", on: newURL)
        try await check(ServiceProcess.start(databaseURL: newURL), key.secret, [before, after])
        await restored.remove()
        await cluster.remove()
        place.remove()
    }

    private func check(_ service: ServiceProcess, _ revokedKey: String, _ positions: [String]) async throws {
        let activities = "\(ServiceProcess.app)/activities"
        for id in ["in-the-backup", "in-the-archive", "ended-later"] {
            #expect(try await service.call("GET", "\(activities)/\(id)").body.contains(#""state":"active""#), "\(id)")
        }
        try await Self.expect(404, service, "GET", "\(activities)/lost")
        try await Self.expect(201, service, "PUT", "\(activities)/lost", #"{"token":"ab"}"#)
        // A late report from the erased user's phone is refused.
        #expect(try await Self.tokensOfUser(service) == 0)
        let late = #"{"token":"aa01","observedAt":"\#(RestorePlace.observedAt)"}"#
        try await Self.expect(410, service, "PUT", "\(Self.production)/activities/of-a-user", late)
        #expect(try await service.call("GET", "\(activities)/lost", key: revokedKey).status == 401)
        // Followers learn that their position is invalid.
        for position in positions {
            let answer = try await service.call("GET", "…/changes?after=\(position)")
            #expect(answer.status == 410 && answer.body.contains("feed-reset"), "\(answer.body)")
        }
        let next = try await Self.position(service)
        try await Self.expect(200, service, "GET", "…/changes?after=\(next)")
        #expect(await service.stop() == 0)
    }

    private static func expect(
        _ status: Int,
        _ service: ServiceProcess,
        _ method: String,
        _ path: String,
        _ body: String? = nil
    ) async throws {
        let answer = try await service.call(method, path, body)
        #expect(answer.status == status, "\(method) \(path): \(answer.body)")
    }

    private static func position(_ service: ServiceProcess) async throws -> String {
        let answer = try await service.call("GET", "…/changes")
        return try #require(answer.json["after"]?.string, "\(answer.body)")
    }

    private static func makeKey(_ service: ServiceProcess) async throws -> (id: String, secret: String) {
        let answer = try await service.call("POST", "/v1/apps/com.example.food/keys", #"{"role":"sender"}"#)
        return (try #require(answer.json["id"]?.string), try #require(answer.json["key"]?.string))
    }

    private static func tokensOfUser(_ service: ServiceProcess) async throws -> Int {
        let answer = try await service.call("GET", "\(production)/aliases/userId/u-7/activities")
        return try #require(answer.json["activities"], "\(answer.body)").elements.count
    }
}

/// Directories for a backup and an archive that Postgres's user can access.
private struct RestorePlace {
    static let observedAt = RFC3339.format(.minutesAgo(5))
    private let directory: String
    private var archive: String { directory + "/archive" }
    var restored: String { directory + "/restored" }

    init() throws {
        directory = "/tmp/pushreg-restore-\(UUID())"
        for place in [directory, directory + "/archive", directory + "/restored"] {
            try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: false)
            try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: place)
        }
    }

    func remove() { try? FileManager.default.removeItem(atPath: directory) }

    var archiving: [String: String] {
        ["archive_mode": "on", "archive_command": "test ! -f \(archive)/%f && cp %p \(archive)/%f"]
    }

    func recovery(to moment: String) -> [String: String] {
        ["restore_command": "cp \(archive)/%f %p", "recovery_target_time": moment, "recovery_target_action": "promote"]
    }

    func backUp(_ url: String) async throws {
        // Postgres's user owns its own files; the backup belongs to its creator.
        try await shell(
            """
            "$bin/pg_basebackup" -d "$DATABASE_URL" -D \(restored)/data -X none --checkpoint=fast --no-sync
            touch \(restored)/data/recovery.signal
            chown -R "$owner" \(restored)
            """,
            url
        )
    }

    func archiveAll(_ url: String) async throws {
        let last = try await ask(url, "SELECT pg_walfile_name(pg_switch_wal())")
        try await until(.seconds(60)) { FileManager.default.fileExists(atPath: "\(archive)/\(last)") }
    }

    func importUser(into url: String) async throws {
        let line = """
            {"activityId":"of-a-user","token":"aa01","observedAt":"\(Self.observedAt)","subject":"u-7",\
            "aliases":{"userId":"u-7"}}
            """
        try Data((line + "\n").utf8).write(to: URL(fileURLWithPath: directory + "/user.ndjson"))
        try await run("pushreg import com.example.food production \(directory)/user.ndjson", on: url)
    }

    func run(_ command: String, on url: String) async throws { _ = try await shell(command, url) }

    func ask(_ url: String, _ query: String) async throws -> String {
        try await shell(#"psql -XAt "$DATABASE_URL" -c "\#(query)""#, url)
    }

    @discardableResult
    private func shell(_ script: String, _ url: String) async throws -> String {
        let preparation = """
            bin=$(psql -XAt "$DATABASE_URL" -c "SELECT setting FROM pg_config WHERE name = 'BINDIR'")
            owner=$(stat -c %u:%g "$(psql -XAt "$DATABASE_URL" -c 'SHOW data_directory')")
            """
        let outcome = try await Program.run(
            "/bin/bash",
            ["-euo", "pipefail", "-c", preparation + "\n" + script],
            [
                "PATH": "\(Program.executable.deletingLastPathComponent().path):/usr/bin:/bin", "DATABASE_URL": url,
                "TZ": "UTC",
            ]
        )
        guard outcome.status == 0 else { throw ServiceFault(detail: "\(script): \(outcome.words)") }
        return outcome.results.trimmingCharacters(in: .whitespacesAndNewlines)
    }
}

/// After a crash, Postgres reuses transaction ids that were not flushed.
@Suite(.serialized, .timeLimit(.minutes(15))) struct PositionCrashTests {
    @Test func `A position stays valid after a crash that follows rolled-back writes`() async throws {
        // The WAL writer is so slow that unflushed records are still in memory when the processes are killed.
        let cluster = FaultCluster(settings: ["wal_writer_delay": "10000", "wal_writer_flush_after": "1GB"])
        let (scope, position) = try await Self.run(cluster) { registry, pool in
            let app = try await registry.put(AppChanges(), for: BundleID("com.example.food"), by: "test").app
            let scope = Scope(app: app, environment: .sandbox)
            for number in 0..<10 { try await Self.register(number, on: registry, in: scope) }
            for _ in 0..<10 { try await Self.undo(in: pool) }
            return (scope, try await registry.presentChangePosition())
        }
        await cluster.crash()
        let told = try await Self.run(cluster) { registry, _ in
            for number in 10..<40 { try await Self.register(number, on: registry, in: scope) }
            return try await registry.changes(after: position, limit: 100, in: scope).changes.map(\.activityID)
        }
        #expect(told == (10..<40).map { UTF8Text("a-\($0)") })
        await cluster.remove()
    }

    private static func run<Value: Sendable>(
        _ cluster: FaultCluster,
        _ body: (Registry, PostgresPool) async throws -> Value
    ) async throws -> Value {
        let pool = PostgresPool(
            databaseURL: try await cluster.start(),
            maximumConnections: 2,
            requestTimeout: .seconds(60),
            allowsUnsafeDurability: false,
            logger: .silent
        )
        try await SchemaMigrator(pool: pool).migrate()
        let value = try await body(Registry(pool: pool, logger: .silent), pool)
        await pool.shutdown()
        return value
    }

    private static func register(_ number: Int, on registry: Registry, in scope: Scope) async throws {
        try await registry.registerSample("a-\(number)", token: number, minutesAgo: 1, in: scope)
    }

    private static func undo(in pool: PostgresPool) async throws {
        struct Undone: Error {}
        do {
            try await pool.withSession(.never) { session in
                try session.transaction { transaction in
                    _ = try transaction.execute("SELECT pg_current_xact_id(), nextval('events_event_number_seq')")
                    throw Undone()
                }
            }
        } catch is Undone {}
    }
}

@Suite(.timeLimit(.minutes(5))) struct SessionSettingsTests {
    @Test func `A session keeps its durability and warnings against other settings`() async throws {
        let cluster = FaultCluster()
        let url = try await cluster.start() + " options='-c client_min_messages=error'"
        let pool = PostgresPool(databaseURL: url, logger: .silent)
        let found = try await pool.withSession { session in
            try session.execute(
                """
                SELECT name || ' ' || setting || ' ' || source FROM pg_settings
                WHERE name IN ('client_min_messages', 'synchronous_commit') ORDER BY name
                """
            ).decode(String.self)
        }
        #expect(found == ["client_min_messages warning session", "synchronous_commit on session"])
        await pool.shutdown()
        await cluster.remove()
    }
}
