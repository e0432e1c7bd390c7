import Foundation
import Logging
import Testing

@testable import EmbeddedPostgres

@Suite(.timeLimit(.minutes(15))) final class EmbeddedPostgresTests: Sendable {
    private let directory = "/tmp/pushreg-embedded-\(UInt64.random(in: 0 ..< .max))"

    init() throws { try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false) }

    deinit { try? FileManager.default.removeItem(atPath: directory) }

    @Test func `Data survives a restart`() async throws {
        let first = try await open(directory)
        try run("CREATE TABLE kept AS SELECT 42 AS answer", on: first)
        await first.close()
        #expect(isGone(first.serverPID))
        let second = try await open(directory)
        #expect(try run("SELECT answer FROM kept", on: second) == "42")
        await second.close()
    }

    @Test func `The last user stops the server`() async throws {
        let first = try await open(directory)
        let second = try await open(directory)
        #expect(first.serverPID == second.serverPID)
        await first.close()
        await first.close()
        #expect(try run("SELECT 1", on: second) == "1")
        await second.close()
        #expect(isGone(second.serverPID))
    }

    @Test func `Concurrent opens start one server`() async throws {
        async let a = open(directory)
        async let b = open(directory)
        async let c = open(directory)
        let all = try await [a, b, c]
        #expect(Set(all.map(\.serverPID)).count == 1)
        for user in all { await user.close() }
        #expect(isGone(all[0].serverPID))
    }

    @Test func `A killed server is replaced`() async throws {
        let first = try await open(directory)
        kill(first.serverPID, SIGKILL)
        while !isGone(first.serverPID) { await Task.yield() }
        let second = try await open(directory)
        #expect(second.serverPID != first.serverPID)
        #expect(try run("SELECT 1", on: second) == "1")
        await second.close()
        await first.close()
    }

    @Test func `A killed server is replaced although another process has its pid`() async throws {
        let first = try await open(directory)
        kill(first.serverPID, SIGKILL)
        while !isGone(first.serverPID) { await Task.yield() }
        let place = try DatabaseDirectory(preparing: directory)
        // A process of the same user, whose signals Postgres may test.
        let other = try await open(directory + "-other")
        defer { try? FileManager.default.removeItem(atPath: directory + "-other") }
        for path in [place.pidFile, "\(try place.makeSocketDirectory())/.s.PGSQL.5432.lock"] {
            let lines = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").dropFirst()
            try (["\(other.serverPID)"] + lines).joined(separator: "\n")
                .write(toFile: path, atomically: false, encoding: .utf8)
        }
        let second = try await open(directory)
        #expect(try run("SELECT 1", on: second) == "1")
        for user in [second, first, other] { await user.close() }
    }

    @Test func `A server whose pid is not known here is not joined by a second one`() async throws {
        let first = try await open(directory)
        // As in another container, where the pid belongs to another process.
        try "1\n".write(toFile: try DatabaseDirectory(preparing: directory).pidFile, atomically: false, encoding: .utf8)
        let error = await #expect(throws: EmbeddedPostgresError.self) { try await open(directory) }
        #expect(error?.description.contains("another container") == true)
        kill(first.serverPID, SIGKILL)
        await first.close()
    }

    @Test func `A server left over by a crash is adopted`() async throws {
        let place = try DatabaseDirectory(preparing: directory)
        // After a crash of this program, the kernel releases its locks, but Postgres keeps running.
        let server = Server(place: place, settings: ["fsync": "off"], search: .standard, logger: .silent)
        let left = try server.joinOrStart()
        let adopted = try await open(directory)
        #expect(adopted.serverPID == left.pid)
        await adopted.close()
        #expect(isGone(left.pid))
    }

    @Test func `Opening waits for a server that is still starting`() async throws {
        let first = try await open(directory)
        let place = try DatabaseDirectory(preparing: directory)
        try run("CREATE TABLE t AS SELECT n FROM generate_series(1, 300000) AS n", on: first)
        kill(first.serverPID, SIGKILL)
        while !isGone(first.serverPID) { await Task.yield() }
        // The program that started this server did not wait for the end of its recovery.
        let socketDirectory = try place.makeSocketDirectory()
        let options = ServerSettings.arguments(socketDirectory: socketDirectory, overrides: [:])
        let start = try [
            InstallationSearch.standard.find(version: nil).program("pg_ctl"), "start", "-W", "-D", place.data,
            "-l", place.log, "-o", options.map { "'\($0)'" }.joined(separator: " "),
        ]
        Postmaster.removeStaleFiles(in: place, socketDirectory)
        while Postmaster(of: place) == nil { _ = try Command(place.user.command(start)).run() }
        let second = try await open(directory)
        #expect(try run("SELECT count(*) FROM t", on: second) == "300000")
        await second.close()
        await first.close()
    }

    @Test func `A server that cannot start is not started repeatedly`() async throws {
        await (try open(directory)).close()
        let began = ContinuousClock.now
        let error = await #expect(throws: EmbeddedPostgresError.self) {
            try await EmbeddedPostgres.open(directory, settings: ["no_such_setting": "1"], logger: .silent)
        }
        #expect(error?.description.contains("no_such_setting") == true)
        #expect(began.duration(to: .now) < .seconds(8))
    }

    @Test func `With a long path the socket is outside the directory`() async throws {
        let long = directory + "/" + String(repeating: "long", count: 40)
        let postgres = try await open(long)
        #expect(!postgres.connectionString.contains(long))
        #expect(try run("SELECT 1", on: postgres) == "1")
        await postgres.close()
    }

    @Test func `The server is durable, listens on no port and logs no parameters`() async throws {
        let postgres = try await EmbeddedPostgres.open(directory, logger: .silent)
        let settings = [
            "listen_addresses": "", "log_parameter_max_length": "0", "fsync": "on", "synchronous_commit": "on",
        ]
        for (name, value) in settings { #expect(try run("SHOW \(name)", on: postgres) == value, "\(name)") }
        await postgres.close()
    }

    @Test func `Other directories and missing programs are refused with a clear message`() async throws {
        try Data("mine".utf8).write(to: URL(fileURLWithPath: directory + "/letter.txt"))
        let strange = await #expect(throws: EmbeddedPostgresError.self) { try await open(directory) }
        #expect(strange?.description.contains("letter.txt") == true)
        let search = InstallationSearch(directories: ["/nowhere"])
        let missing = await #expect(throws: EmbeddedPostgresError.self) {
            try await EmbeddedPostgres.open(directory + "/new", settings: [:], search: search, logger: .silent)
        }
        #expect(missing?.description.contains("apt-get install postgresql") == true)
    }

    @Test func `A file at the directory's path is refused, and the error calls it a file`() async throws {
        try Data("mine".utf8).write(to: URL(fileURLWithPath: directory + "/letter.txt"))
        for path in ["/letter.txt", "/letter.txt/data", "/letter.txt/deep/data"] {
            let inTheWay = await #expect(throws: EmbeddedPostgresError.self) { try await open(directory + path) }
            #expect(inTheWay?.description.contains("Not a directory") == true, "\(inTheWay?.description ?? "none")")
        }
        let deep = try await open(directory + "/made/on/the/way")
        await deep.close()
    }

    @Test func `Data of another version is refused`() async throws {
        let postgres = try await open(directory)
        await postgres.close()
        try Data("12\n".utf8).write(to: URL(fileURLWithPath: directory + "/data/PG_VERSION"))
        let other = await #expect(throws: EmbeddedPostgresError.self) { try await open(directory) }
        #expect(other?.description.contains("made by Postgres 12, which is not installed") == true)
    }

    private func open(_ directory: String) async throws -> EmbeddedPostgres {
        try await EmbeddedPostgres.open(directory, settings: ["fsync": "off"], logger: .silent)
    }

    @discardableResult
    private func run(_ sql: String, on postgres: EmbeddedPostgres) throws -> String {
        let installation = try InstallationSearch.standard.find(version: nil)
        let outcome = try Command([installation.program("psql"), "-XAtc", sql, postgres.connectionString]).run()
        return outcome.output.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// A process that exits has no working directory some time before it is gone.
    private func isGone(_ process: pid_t) -> Bool {
        poll(for: .seconds(10)) {
            let status = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)
            return status?.contains(") Z") == false ? nil : true
        } != nil
    }
}

extension Logger { fileprivate static var silent: Logger { Logger(label: "test") { _ in SwiftLogNoOpLogHandler() } } }
