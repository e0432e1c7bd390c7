import Foundation
import PostgresDriver
import RegistryCore
import RegistryStore
import TestSupport
import Testing

@testable import pushreg

/// An import of very many rows of another system's, killed half way.
@Suite(.serialized) struct OneSignalInterruptionTests {
    private static let count = TestScale.isLong ? 1_000_000 : 20_000
    /// In KiB, of a program that was built without optimization, whatever the size of the file.
    private static let mostMemory = 128 * 1024

    @Test("A killed import goes on in bounded memory, and doubles nothing", .timeLimit(.minutes(120)))
    func goesOn() async throws {
        let database = try await TestDatabase.make()
        let scope = try await database.scope()
        let file = try OneSignalFile()
        defer { file.remove() }
        try Self.fill(file.file.path)
        let done = try await Self.interrupt(file, database, scope)
        #expect(done > 0 && done < Self.count)
        let loaded = try await file.load(into: database)
        #expect(loaded.status == 0 && loaded.words.contains("Going on after line "), "\(loaded.words)")
        let rest = try #require(loaded.words.firstMatch(of: /Imported (\d+) records/).flatMap { Int($0.1) })
        #expect(rest < Self.count)
        #expect(!FileManager.default.fileExists(atPath: file.file.progress))
        let tokens = try await database.count("SELECT count(*) FROM current_installation_tokens")
        let names = try await database.count("SELECT count(*) FROM installation_aliases")
        #expect(tokens == Self.count && names == Self.count)
        let last = try await OneSignalFile.tokens("u-\(Self.count)", database, scope)
        #expect(last.map(\.token) == [.sample(Self.count)])
    }

    /// Rows of two lines each.
    private static func fill(_ path: String) throws {
        let output = try #require(FileHandle(forWritingAtPath: path))
        let time = OneSignalFile.seconds(minutesAgo: 600)
        try output.write(contentsOf: Data(OneSignalFile.text([]).utf8))
        for start in stride(from: 1, through: count, by: 1000) {
            let rows = (start..<min(start + 1000, count + 1)).map {
                OneSignalFile.row($0, user: "u-\($0)", lastActive: time) + "\n"
            }
            try output.write(contentsOf: Data(rows.joined().utf8))
        }
        try output.close()
    }

    /// Another transaction has one of the installations, for as long as it takes, so that the import cannot come to its end.
    ///
    /// - Returns: how many rows were done when it was killed, as the file beside it says.
    private static func interrupt(_ file: OneSignalFile, _ database: TestDatabase, _ scope: Scope) async throws -> Int {
        let hash = OneSignalFile.hash(count * 3 / 5, in: scope)
        let holder = try await HeldTransaction(
            """
            INSERT INTO installations (app_number, environment, installation_hash)
            SELECT \(scope.app.number), 'sandbox', \(hash.bytes)
            FROM set_config('idle_in_transaction_session_timeout', '0', true)
            """,
            in: database
        )
        let start = ContinuousClock.now
        let flags = ["--from", "onesignal-csv"] + TransferFile.flags(database)
        let program = try RunningProgram.start(["import"] + TransferFile.scope + [file.file.path] + flags)
        try await until(.seconds(3600)) {
            try #require(program.isRunning, "it came to its end")
            return try await holder.waiting > 0
        }
        let rows = try linesDone(file.file.progress) / 2
        let rate = Double(rows) / ((ContinuousClock.now - start) / .seconds(1))
        let memory = try peakMemory(of: program.processID)
        program.send(SIGKILL)
        #expect(await program.end() != 0)
        try await holder.release()
        print(
            "figure: import of OneSignal's CSV, killed after \(rows) rows: \(Int(rate)) rows/s, peak \(memory / 1024) MiB"
        )
        #expect(memory < mostMemory)
        return rows
    }

    private static func linesDone(_ path: String) throws -> Int {
        let progress = try JSONParser.parse(String(contentsOfFile: path, encoding: .utf8))
        guard case .integer(let line)? = progress["line"] else { return 0 }
        return Int(line)
    }

    /// The most that a process had in memory so far, in KiB.
    private static func peakMemory(of process: pid_t) throws -> Int {
        let status = try String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)
        return try #require(status.firstMatch(of: /VmHWM:\s+(\d+) kB/).flatMap { Int($0.1) })
    }
}
