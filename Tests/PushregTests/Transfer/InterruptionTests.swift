import Foundation
import PostgresDriver
import RegistryCore
import RegistryStore
import TestSupport
import Testing

@Suite(.serialized, .timeLimit(.minutes(60))) struct InterruptionTests {
    private static let count = TestScale.isLong ? 1_000_000 : 5000
    /// In KiB. A debug build needs less than this for a file of any size.
    private static let mostMemory = 128 * 1024

    @Test func `An interrupted import neither loses nor duplicates records`() async throws {
        let (source, target) = (try await TestDatabase.make(), try await TestDatabase.make())
        let (scope, _) = (try await source.scope(), try await target.scope())
        try await Self.fill(source, scope)
        let file = try TransferFile()
        defer { file.remove() }
        try await Self.interruptExport(of: source, to: file)
        let half = file.records.count
        #expect(half > 0)
        #expect(half < Self.count)
        let resumed = try await file.export(from: source, ["--resume"])
        #expect(resumed.words.contains("Continuing after "), "\(resumed.words)")
        let records = file.records
        #expect(records.count == Self.count)
        #expect(Set(records).count == Self.count)

        let done = try await Self.interruptImport(of: file, into: target)
        #expect(done > 0)
        #expect(done < Self.count)
        let loaded = try await file.load(into: target)
        #expect(loaded.status == 0 && loaded.words.contains("Continuing after line \(done)."), "\(loaded.words)")
        let rest = try #require(loaded.words.firstMatch(of: /Imported (\d+) records/).flatMap { Int($0.1) })
        #expect(rest < Self.count)
        #expect(rest >= Self.count - done)
        #expect(!FileManager.default.fileExists(atPath: file.progress))
        #expect(try await Self.state(source) == Self.state(target))
        // One event each, so no activity was registered twice.
        let events = try await target.count("SELECT count(*) FROM events WHERE activity_id IS NOT NULL")
        #expect(events == Self.count)
    }

    @Test func `An export resumes from any byte`() async throws {
        let database = try await TestDatabase.make()
        try await Self.fill(database, try await database.scope(), count: 2500)
        let file = try TransferFile()
        defer { file.remove() }
        try await file.export(from: database)
        let whole = Array(file.text.utf8)
        let newlines = whole.indices.filter { whole[$0] == UInt8(ascii: "\n") }
        // In the first line, after it, within a record, after a checkpoint, within the last line, and the whole file.
        let cuts = [
            0, 5, newlines[0] + 1, whole.count / 2, newlines[1002] + 1, newlines[1002], whole.count - 3, whole.count,
        ]
        for cut in cuts {
            try Data(whole[..<cut]).write(to: URL(fileURLWithPath: file.path))
            guard cut == 0 || cut > newlines[0] else { continue }
            try await file.export(from: database, ["--resume"])
            // Outside the expectation, which would compute a difference of millions of bytes.
            let isSame = Array(file.text.utf8) == whole
            #expect(isSame, "cut at \(cut)")
        }
        // A device would get the file mode of an export.
        for flags in [["--resume"], []] {
            let place = ["--output", "/dev/null"] + database.flags + flags
            let device = try await Program.run(["export"] + TransferFile.scope + place)
            #expect(device.status == 64 && device.words.contains("/dev/null is not a regular file"), "\(device.words)")
        }
        #expect(FileManager.default.isReadableFile(atPath: "/dev/null"))
    }

    /// The program stops at a closed pipe, after the last chunk and the end of the file.
    @Test func `An import that stopped after the last record knows that the file is whole`() async throws {
        let (_, target, file) = try await Self.exported(100)
        defer { file.remove() }
        let command = ["import"] + TransferFile.scope + [file.path, "--json"] + target.flags
        let unheard = try await Program.intoNowhere(command)
        #expect(unheard.status != 0)
        let again = try await file.load(into: target)
        #expect(again.status == 0, "\(again.words)")
        #expect(try await target.count("SELECT count(*) FROM activities") == 100)
    }

    @Test func `Progress counts for its own file and database only`() async throws {
        let (source, target, file) = try await Self.exported(3000)
        defer { file.remove() }
        _ = try await Self.interruptImport(of: file, into: target, count: 3000)
        let progress = try Data(contentsOf: URL(fileURLWithPath: file.progress))
        let elsewhere = try await file.load(into: source)
        #expect(elsewhere.results.contains(#""taken":3000"#) && !elsewhere.words.contains("Continuing"))
        try progress.write(to: URL(fileURLWithPath: file.progress))
        let anew = try await file.load(into: target, ["--restart"])
        #expect(anew.results.contains(#""taken":3000"#) && !anew.words.contains("Continuing"), "\(anew.words)")
        try progress.write(to: URL(fileURLWithPath: file.progress))
        try file.write(file.text + "\n")
        let changed = try await file.load(into: target)
        #expect(changed.results.contains(#""taken":3000"#) && !changed.words.contains("Continuing"), "\(changed.words)")
    }

    @Test func `Faults before an interruption count`() async throws {
        let (_, target, file) = try await Self.exported(3000)
        defer { file.remove() }
        let newline = try #require(file.text.firstIndex(of: "\n"))
        try file.write("\(file.text[...newline])a diary\(file.text[newline...])")
        _ = try await Self.interruptImport(of: file, into: target, count: 3000)
        let resumed = try await file.load(into: target)
        #expect(resumed.words.contains("Continuing") && resumed.results.contains(#""faulty":0"#), "\(resumed.words)")
        #expect(resumed.status == 1)
        #expect(resumed.words.contains("the interrupted import listed them"))
    }

    // MARK: Interrupting

    /// Exports this number of activities, and returns the source, an empty target and the file.
    private static func exported(_ count: Int) async throws -> (TestDatabase, TestDatabase, TransferFile) {
        let (source, target) = (try await TestDatabase.make(), try await TestDatabase.make())
        let (scope, _) = (try await source.scope(), try await target.scope())
        try await fill(source, scope, count: count)
        let file = try TransferFile()
        try await file.export(from: source)
        return (source, target, file)
    }

    /// Imitates a full disk with a limit on the file's size, in KiB.
    private static func interruptExport(of database: TestDatabase, to file: TransferFile) async throws {
        let clock = ContinuousClock()
        let start = clock.now
        try await file.export(from: database)
        let size = file.text.utf8.count
        let rate = Double(count) / ((clock.now - start) / .seconds(1))
        print("figure: export of \(count) activities, \(size / count) bytes each: \(Int(rate)) records/s")
        try FileManager.default.removeItem(atPath: file.path)
        let flags = database.flags.map { "'\($0.replacingOccurrences(of: "'", with: #"'\''"#))'" }
        let export = "export com.example.food sandbox --output \(file.path) " + flags.joined(separator: " ")
        let script = "trap '' XFSZ; ulimit -f \(size / 2048); exec \(Program.executable.path) \(export)"
        let outcome = try await Program.run("/bin/bash", ["-c", script])
        #expect(outcome.status == 1 && outcome.words.contains("File too large"), "\(outcome.words)")
    }

    /// Kills an import while another transaction holds one of the activities, so that the import cannot finish.
    ///
    /// - Returns: the number of finished lines, from the progress file.
    private static func interruptImport(
        of file: TransferFile,
        into database: TestDatabase,
        count: Int = count
    ) async throws -> Int {
        let scope = try await database.count("SELECT scope_id FROM scopes WHERE environment = 'sandbox'")
        let start = ContinuousClock.now
        let middle = Int64(count * 3 / 5)
        let holder = try await HeldTransaction(activities(of: Int64(scope), middle...middle), in: database)
        let flags = database.flags
        let program = try RunningProgram.start(["import"] + TransferFile.scope + [file.path] + flags)
        try await until(.seconds(1800)) {
            try #require(program.isRunning, "the import must still be running")
            return try await holder.waiting > 0
        }
        let done = linesDone(file)
        let rate = Double(done) / ((ContinuousClock.now - start) / .seconds(1))
        let memory = try peakMemory(of: program.processID)
        program.send(SIGKILL)
        #expect(await program.end() != 0)
        try await holder.release()
        #expect(memory < mostMemory)
        let peak = "peak \(memory / 1024) MiB"
        print("figure: import, killed after \(done) of \(count) lines: \(Int(rate)) records/s, \(peak)")
        return done
    }

    private static func peakMemory(of process: pid_t) throws -> Int {
        let status = try String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)
        return try #require(status.firstMatch(of: /VmHWM:\s+(\d+) kB/).flatMap { Int($0.1) })
    }

    private static func linesDone(_ file: TransferFile) -> Int {
        guard let text = try? String(contentsOfFile: file.progress, encoding: .utf8),
            case .integer(let line)? = try? JSONParser.parse(text)["line"]
        else { return 0 }
        return Int(line)
    }

    // MARK: What there is

    /// A digest of all imported data, independent of the order of the rows.
    private static func state(_ database: TestDatabase) async throws -> [Int] {
        try await [
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
        ].asyncMap { try await database.count($0) }
    }

    private static func activities(of scope: Int64, _ numbers: ClosedRange<Int64>) -> SQL {
        """
        INSERT INTO activities (scope_id, activity_id, token, token_digest, token_observed_at,
            token_claimed_at, last_observed_at, started_at, expires_at, confirmed_at, aliases,
            aliases_observed_at, attributes_type, installation_hash, created_at)
        SELECT \(scope), 'a-' || n, t.token, sha256(t.token), t.at, t.at, t.at, t.at,
            t.at + interval '8 hours', t.at,
            jsonb_build_object('testId', jsonb_build_array('order-' || n)), t.at, 'Delivery',
            sha256(int8send(n)), t.at
        FROM generate_series(\(numbers.lowerBound)::bigint, \(numbers.upperBound)::bigint) AS n
        CROSS JOIN LATERAL (
            SELECT int8send(n) || decode(repeat('ee', 72), 'hex') AS token,
                now() - interval '1 hour' - n * interval '1 microsecond' AS at
        ) AS t
        """
    }

    /// Adds running activities in the number of a large export.
    static func fill(_ database: TestDatabase, _ scope: Scope, count: Int = count) async throws {
        try await database.pool.withSession(.never, timeout: .seconds(600)) { session in
            try session.simple("SET statement_timeout = 0")
            _ = try session.pipeline([
                activities(of: scope.id, 1...Int64(count)),
                """
                INSERT INTO token_values (scope_id, token_digest, activity_id, activity_key, observed_at)
                SELECT scope_id, token_digest, activity_id, activity_key, token_observed_at FROM activities
                """,
                """
                INSERT INTO activity_aliases (scope_id, kind, value, ended, activity_key)
                SELECT scope_id, 'testId', aliases -> 'testId' ->> 0, false, activity_key
                FROM activities
                """,
            ])
            try session.simple("ANALYZE activities, token_values, activity_aliases")
        }
    }
}

extension Array {
    fileprivate func asyncMap<Value>(_ transform: (Element) async throws -> Value) async rethrows -> [Value] {
        var values: [Value] = []
        for element in self { values.append(try await transform(element)) }
        return values
    }
}
