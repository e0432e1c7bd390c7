import Foundation
import PostgresDriver
import RegistryCore
import RegistryStore
import TestSupport
import Testing

/// A large app that moves whole, and an import that is killed on the way.
@Suite(.serialized, .timeLimit(.minutes(60))) struct EverythingInterruptionTests {
    /// Each has a row in three tables.
    private static let count = TestScale.isLong ? 1_000_000 : 40_000
    /// Ten times less than the smallest file, and more than a debug build takes for a small one.
    private static let mostMemory = 100

    @Test("Killed, it goes on; until all is there nobody sees anything; memory is bounded")
    func killedItGoesOn() async throws {
        let (source, target) = (try await TestDatabase.make(), try await TestDatabase.make())
        try await InterruptionTests.fill(source, try await source.scope(), count: Self.count)
        let file = try TransferFile()
        defer { file.remove() }
        let flags = TransferFile.flags(source)
        let exported = try await Self.runWatched(
            ["export", "--everything", "com.example.food", "--output", file.path] + flags
        )
        let lines = 3 * Self.count + 3
        #expect(file.text.utf8.count(where: { $0 == UInt8(ascii: "\n") }) == lines)

        let done = try await Self.kill(of: file, into: target)
        #expect(done > Self.count / 2 && done < lines)
        #expect(try await target.count("SELECT count(*) FROM apps") == 0)
        // A service that runs there sweeps; it deletes nothing of what may still become an app.
        #expect(try await target.registry.finishDeletions() == 0)

        let loaded = try await file.loadWhole(into: target)
        #expect(loaded.status == 0 && loaded.words.contains("Going on after line \(done)."), "\(loaded.words)")
        #expect(try await target.count("SELECT count(*) FROM deleted_apps") == 0)
        try await Self.isSame(source, target)
        // Once more it changes nothing. A service that was asked for the app knows it by now.
        let again = try await Self.runWatched(["import", "--everything", file.path] + TransferFile.flags(target))
        #expect(again.status == 0 && again.words.contains("nothing was written"), "\(again.words)")

        let third = try await TestDatabase.make()
        let imported = try await Self.runWatched(["import", "--everything", file.path] + TransferFile.flags(third))
        #expect(imported.status == 0, "\(imported.words)")
        for outcome in [exported, imported, again] { #expect(outcome.memory < Self.mostMemory) }
        let size = file.text.utf8.count
        print(
            """
            figure: \(lines) lines, \(size >> 20) MiB: exported in \(exported.time) and \(exported.memory) MiB, imported in \
            \(imported.time) and \(imported.memory) MiB, compared in \(again.time) and \(again.memory) MiB
            """
        )
    }

    /// The rows that came are there for a day; afterwards the same command begins anew.
    @Test("What lay idle for too long is begun anew") func idleIsBegunAnew() async throws {
        let (source, target) = (try await TestDatabase.make(), try await TestDatabase.make())
        try await InterruptionTests.fill(source, try await source.scope(), count: 3000)
        let file = try TransferFile()
        defer { file.remove() }
        try await file.exportWhole(from: source)
        let end: SQL = "UPDATE deleted_apps SET deleted_at = now() - interval '1 minute'"
        let isLost = [
            // A sweep may delete it, or has.
            { try await target.execute(end) },
            {
                try await target.execute(end)
                #expect(try await target.registry.finishDeletions() == 1)
            },
            { try file.write(file.text + "\n") },
        ]
        for lose in isLost {
            _ = try await Self.kill(of: file, into: target)
            try await lose()
            let loaded = try await file.loadWhole(into: target)
            #expect(loaded.status == 0 && !loaded.words.contains("Going on"), "\(loaded.words)")
            try await Self.isSame(source, target)
            _ = try await target.registry.deleteApp(BundleID("com.example.food"), by: "test")
            try await target.execute(end)
            _ = try await target.registry.finishDeletions()
        }
        _ = try await Self.kill(of: file, into: target)
        let anew = try await file.loadWhole(into: target, ["--restart"])
        #expect(anew.status == 0 && !anew.words.contains("Going on"), "\(anew.words)")
        try await Self.isSame(source, target)
        // The rows of the first attempt are no longer kept.
        #expect(try await target.registry.finishDeletions() == 1)
        try await Self.isSame(source, target)
        #expect(try await target.count("SELECT count(DISTINCT app_number) FROM activity_aliases") == 1)
    }

    /// Kills an import in the middle: another transaction has a table, so that it cannot come to its end.
    ///
    /// - Returns: how many lines were done, as the file beside it says.
    private static func kill(of file: TransferFile, into database: TestDatabase) async throws -> Int {
        let holder = try await HeldTransaction("LOCK TABLE token_values IN SHARE MODE", in: database)
        let program = try RunningProgram.start(["import", "--everything", file.path] + TransferFile.flags(database))
        try await until(.seconds(1800)) {
            try #require(program.isRunning, "it came to its end")
            return try await holder.waiting > 0
        }
        program.send(SIGKILL)
        #expect(await program.end() != 0)
        try await holder.release()
        let text = try String(contentsOfFile: file.progress, encoding: .utf8)
        guard case .integer(let line)? = try JSONParser.parse(text)["line"] else { return 0 }
        return Int(line)
    }

    private struct Watched {
        let status: Int32
        let words: String
        let time: Duration
        /// The most that was ever resident, in MiB.
        let memory: Int
    }

    private static func runWatched(_ arguments: [String]) async throws -> Watched {
        let start = ContinuousClock.now
        let program = try RunningProgram.start(arguments)
        var memory = 0
        try await until(.seconds(1800)) {
            let status = (try? String(contentsOfFile: "/proc/\(program.processID)/status", encoding: .utf8)) ?? ""
            memory = max(memory, (status.firstMatch(of: /VmHWM:\s+(\d+) kB/).flatMap { Int($0.1) } ?? 0) / 1024)
            return !program.isRunning
        }
        let time = ContinuousClock.now - start
        let status = await program.end()
        #expect(memory > 0)
        return Watched(status: status, words: program.text, time: time, memory: memory)
    }

    /// Compares tables that are too large to be read by a test.
    private static func isSame(_ source: TestDatabase, _ target: TestDatabase) async throws {
        for table in ["activities", "token_values", "activity_aliases"] {
            let digest: SQL = """
                SELECT coalesce(bit_xor(hashtextextended((to_jsonb(r) - 'app_number')::text, 0)), 0)
                FROM \(unescaped: table) r JOIN apps a ON a.app_number = r.app_number AND a.bundle_id = 'com.example.food'
                """
            let (before, after) = (try await source.count(digest), try await target.count(digest))
            #expect(before == after && before != 0, "\(table)")
        }
    }
}
