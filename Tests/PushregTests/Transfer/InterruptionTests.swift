import Foundation
import PostgresDriver
import RegistryCore
import RegistryStore
import TestSupport
import Testing

@Suite(.transferToTarget, .serialized, .timeLimit(.minutes(60))) struct InterruptionTests {
    private static let count = TestScale.isLong ? 1_000_000 : 5000
    /// The limit in KiB. A debug build needs less for a file of any size.
    private static let mostMemory = 128 * 1024

    @Test func `An interrupted import neither loses nor duplicates records`() async throws {
        try await Self.fill(Self.count)
        try await Self.interruptExport()
        #expect((1..<Self.count).contains(file.records.count))
        try await file.load(into: target, ["--dry-run"], gives: 1, "its export was interrupted")
        try FileManager.default.removeItem(atPath: file.path)
        try await file.export(from: database)
        let records = file.records
        #expect(records.count == Self.count)
        #expect(Set(records).count == Self.count)

        let done = try await Self.interruptImport(Self.count)
        #expect((1..<Self.count).contains(done))
        let loaded = try await file.load(into: target, gives: 0, "Continuing after line \(done).")
        let rest = try #require(loaded.words.firstMatch(of: /Imported (\d+) records/).flatMap { Int($0.1) })
        #expect((Self.count - done..<Self.count).contains(rest))
        #expect(!FileManager.default.fileExists(atPath: file.progress))
        #expect(try await Self.state(database) == Self.state(target))
        // One event each, so no activity was registered twice.
        #expect(try await target.count("SELECT count(*) FROM events WHERE activity_id IS NOT NULL") == Self.count)
    }

    /// The program stops at a closed pipe, after the last chunk and the end of the file.
    @Test func `An import that stopped after the last record still detects a complete file`() async throws {
        try await Self.export(100)
        let command = ["import"] + TransferFile.scope + [file.path, "--json"] + target.flags
        #expect(try await Program.intoNowhere(command).status != 0)
        try await file.load(into: target)
        #expect(try await target.count("SELECT count(*) FROM activities") == 100)
    }

    @Test func `Stored progress applies only to its own file and database`() async throws {
        try await Self.export(3000)
        _ = try await Self.interruptImport(3000)
        let progress = try Data(contentsOf: URL(fileURLWithPath: file.progress))
        let elsewhere = try await file.load(into: database)
        #expect(elsewhere.results.contains(#""taken":3000"#) && !elsewhere.words.contains("Continuing"))
        try progress.write(to: URL(fileURLWithPath: file.progress))
        let anew = try await file.load(into: target, ["--restart"])
        #expect(anew.results.contains(#""taken":3000"#) && !anew.words.contains("Continuing"), "\(anew.words)")
        try progress.write(to: URL(fileURLWithPath: file.progress))
        try file.write(file.text + "\n")
        let changed = try await file.load(into: target)
        #expect(changed.results.contains(#""taken":3000"#) && !changed.words.contains("Continuing"), "\(changed.words)")
    }

    @Test func `Faults before an interruption are included in the total`() async throws {
        try await Self.export(3000)
        let newline = try #require(file.text.firstIndex(of: "\n"))
        try file.write("\(file.text[...newline])a diary\(file.text[newline...])")
        _ = try await Self.interruptImport(3000)
        let resumed = try await file.load(into: target, gives: 1, "the interrupted import listed them")
        #expect(resumed.words.contains("Continuing") && resumed.results.contains(#""faulty":0"#), "\(resumed.words)")
    }

    private static func export(_ count: Int) async throws {
        try await fill(count)
        try await file.export(from: database)
    }

    /// Imitates a full disk with a limit on the file's size, in KiB.
    private static func interruptExport() async throws {
        let start = ContinuousClock.now
        try await file.export(from: database)
        let size = file.text.utf8.count
        let rate = Double(count) / ((ContinuousClock.now - start) / .seconds(1))
        print("figure: export of \(count) activities, \(size / count) bytes each: \(Int(rate)) records/s")
        try FileManager.default.removeItem(atPath: file.path)
        let flags = database.flags.map { "'\($0.replacing("'", with: #"'\''"#))'" }
        let export = "export com.example.food sandbox --output \(file.path) " + flags.joined(separator: " ")
        let script = "trap '' XFSZ; ulimit -f \(size / 2048); exec \(Program.executable.path) \(export)"
        let outcome = try await Program.run("/bin/bash", ["-c", script])
        #expect(outcome.status == 1 && outcome.words.contains("File too large"), "\(outcome.words)")
    }

    /// Kills an import while another transaction holds one of the activities, so that the import cannot finish.
    ///
    /// - Returns: the number of finished lines, from the progress file.
    private static func interruptImport(_ count: Int) async throws -> Int {
        let start = ContinuousClock.now
        let middle = Int64(count * 3 / 5)
        let held = bulk(middle...middle).activities(in: try await target.scope().id)
        let holder = try await HeldTransaction(held, in: target)
        let program = try RunningProgram.start(["import"] + TransferFile.scope + [file.path] + target.flags)
        try await until(.seconds(1800)) {
            try #require(program.isRunning, "the import must still be running")
            return try await holder.waiting > 0
        }
        let done = linesDone()
        let rate = Double(done) / ((ContinuousClock.now - start) / .seconds(1))
        let memory = program.peakMemory
        program.send(SIGKILL)
        #expect(await program.end() != 0)
        try await holder.release()
        #expect((1..<mostMemory).contains(memory))
        let peak = "peak \(memory / 1024) MiB"
        print("figure: import, killed after \(done) of \(count) lines: \(Int(rate)) records/s, \(peak)")
        return done
    }

    private static func linesDone() -> Int {
        guard let text = try? String(contentsOfFile: file.progress, encoding: .utf8),
            case .integer(let line)? = try? JSONParser.parse(text)["line"]
        else { return 0 }
        return Int(line)
    }

    /// A digest of all imported data, independent of the order of the rows.
    private static func state(_ database: TestDatabase) async throws -> [Int] {
        var state: [Int] = []
        for digest in [
            """
            SELECT bit_xor(hashtextextended(concat_ws('|', activity_id, encode(token, 'hex'), token_observed_at,
                token_claimed_at, last_observed_at, started_at, expires_at, aliases, aliases_observed_at,
                attributes_type, encode(installation_hash, 'hex')), 0)) FROM activities
            """,
            """
            SELECT bit_xor(hashtextextended(concat_ws('|', kind, value, ended), count))
            FROM (SELECT kind, value, ended, count(*) FROM activity_aliases GROUP BY 1, 2, 3) AS a
            """,
            "SELECT bit_xor(hashtextextended(concat_ws('|', token_digest, activity_id, observed_at), 0)) FROM token_values",
            "SELECT count(*) FROM deliverable_activities",
        ] as [SQL] { state.append(try await database.count(digest)) }
        return state
    }

    private static func bulk(_ numbers: ClosedRange<Int64>) -> BulkActivities {
        BulkActivities(name: "a", numbers: numbers, kind: "testId", alias: "'order-' || n", age: "interval '1 hour'")
    }

    /// Adds running activities in the number of a large export.
    private static func fill(_ count: Int) async throws {
        try await bulk(1...Int64(count)).insert(into: database, database.scope())
    }
}
