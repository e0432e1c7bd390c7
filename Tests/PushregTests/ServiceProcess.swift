import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import PostgresDriver
import RegistryCore
import TestSupport
import Testing

final class ServiceProcess: Sendable {
    let port: Int
    private let program: RunningProgram

    var log: String { program.text }

    private init(port: Int, program: RunningProgram) { (self.port, self.program) = (port, program) }
    deinit { if program.isRunning { program.send(SIGKILL) } }

    /// Starts the service and waits until it accepts requests.
    static func start(databaseURL: String, arguments: [String] = []) async throws -> ServiceProcess {
        try await start(database: ["--database-url", databaseURL, "--migrate"], arguments: arguments)
    }

    /// Starts the service on a test's database, which is not durable.
    static func start(on database: TestDatabase, _ arguments: String...) async throws -> ServiceProcess {
        try await start(databaseURL: database.connectionString, arguments: ["--unsafe-durability"] + arguments)
    }

    /// - Parameter database: the flags that select the database.
    /// - Parameter isInsecure: whether requests without credentials act as root.
    static func start(
        database: [String],
        arguments: [String] = [],
        isInsecure: Bool = true
    ) async throws -> ServiceProcess {
        // Other tests share the machine, so a call may take longer than usual.
        let serve = ["serve", "--port", "0", "--request-timeout", "PT20S"] + (isInsecure ? ["--insecure-no-auth"] : [])
        let environment = ProcessInfo.processInfo.environment
        let program = try RunningProgram.start(serve + database + arguments, environment: environment)
        let line = await program.line(with: #""addresses":["http://127.0.0.1:"#)
        guard let port = line?.firstMatch(of: /127\.0\.0\.1:(\d+)"/).flatMap({ Int($0.1) }) else {
            throw ServiceFault(detail: "the service did not start: \(program.text)")
        }
        return ServiceProcess(port: port, program: program)
    }

    func kill(_ signal: Int32) { program.send(signal) }

    /// - Returns: the exit code, or the negated number of the signal that killed it.
    @discardableResult
    func stop(_ signal: Int32 = SIGTERM) async -> Int32 {
        kill(signal)
        return await program.end()
    }

    /// Peak resident memory in MiB.
    var peakMemory: Int { program.peakMemory / 1024 }
}

struct ServiceFault: Error, CustomStringConvertible {
    let detail: String
    var description: String { detail }
}

extension ServiceProcess {
    struct Answer {
        let status: Int
        let headers: [(String, String)]
        let body: String
        let duration: Duration

        var json: JSONValue { (try? JSONParser.parse(body)) ?? .null }
        func header(_ name: String) -> String? { headers.first { $0.0.lowercased() == name }?.1 }
    }

    static let app = "/v1/apps/com.example.food/sandbox"

    /// Allows a connection per caller. The shared client has eight, so callers would wait for each other.
    private static let client: HTTPClient = {
        var configuration = HTTPClient.Configuration.singletonConfiguration
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 256
        // A refused caller gets an error and does not wait for a listener.
        configuration.connectionPool.retryConnectionEstablishment = false
        return HTTPClient(configuration: configuration)
    }()

    func makeApp() async throws { _ = try await call("PUT", "/v1/apps/com.example.food", "{}") }

    func register(_ id: String, number: Int, alias: String = "fault") async throws -> Answer {
        let body = #"{"token":"\#(String(format: "%016lx", number))ab","aliases":{"testId":"\#(alias)"}}"#
        return try await call("PUT", "\(Self.app)/activities/\(id)", body)
    }

    /// Makes a call; `…` is replaced by the app and environment.
    func call(_ method: String, _ path: String, _ body: String? = nil, key: String? = nil) async throws -> Answer {
        var request = HTTPClientRequest(url: "http://127.0.0.1:\(port)\(path.replacing("…", with: Self.app))")
        request.method = .RAW(value: method)
        if let key { request.headers.add(name: "Authorization", value: "Bearer \(key)") }
        if let body {
            request.headers.add(name: "Content-Type", value: "application/json")
            request.body = .bytes(ByteBuffer(string: body))
        }
        let start = ContinuousClock.now
        let response = try await Self.client.execute(request, timeout: .seconds(20))
        let text = String(buffer: try await response.body.collect(upTo: 1 << 24))
        return Answer(
            status: Int(response.status.code),
            headers: response.headers.map { ($0.name, $0.value) },
            body: text,
            duration: ContinuousClock.now - start
        )
    }
}

extension ServiceProcess {
    func lines(of path: String) async throws -> HTTPClientResponse.Body {
        var request = HTTPClientRequest(url: "http://127.0.0.1:\(port)\(Self.app)/\(path)")
        request.headers.add(name: "Accept", value: "application/x-ndjson")
        return try await HTTPClient.shared.execute(request, timeout: .minutes(10)).body
    }

    /// A reader that stops after the first bytes.
    func stalledReader(of path: String) async throws -> RawConnection {
        let reader = try RawConnection(port: port)
        reader.send("GET \(Self.app)/\(path) HTTP/1.1\r\nHost: localhost\r\nAccept: application/x-ndjson\r\n\r\n")
        #expect(await reader.take(most: 64) > 0)
        return reader
    }
}

extension TestDatabase {
    func busyConnections() async throws -> Int {
        try await count(
            """
            SELECT count(*) FROM pg_stat_activity
            WHERE application_name = 'pushreg' AND datname = current_database() AND state <> 'idle'
                AND pid <> pg_backend_pid()
            """
        )
    }
}

extension Program {
    static var executable: URL {
        URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
            .appendingPathComponent("pushreg")
    }

    /// Runs a command of pushreg with only the given environment.
    static func run(_ arguments: [String], environment: [String: String] = [:]) async throws -> Outcome {
        try await run(executable.path, arguments, environment)
    }

    /// Runs a command of pushreg, and expects its exit code and a part of its messages.
    @discardableResult
    static func run(
        _ arguments: [String],
        environment: [String: String] = [:],
        gives status: Int32,
        _ words: String = "",
        at location: SourceLocation = #_sourceLocation
    ) async throws -> Outcome {
        let outcome = try await run(arguments, environment: environment)
        #expect(outcome.status == status, "\(outcome.results)\(outcome.words)", sourceLocation: location)
        #expect(words.isEmpty || outcome.words.contains(words), "\(outcome.words)", sourceLocation: location)
        return outcome
    }

    /// Runs a command with a standard output that cannot be written, like a full disk.
    static func intoNowhere(_ arguments: [String]) async throws -> Outcome {
        let shell = ["-c", #"exec "$0" "$@" >/dev/full"#, executable.path]
        return try await run("/bin/sh", shell + arguments)
    }
}

extension RunningProgram {
    /// Starts a command of pushreg with only the given environment.
    static func start(_ arguments: [String], environment: [String: String] = [:]) throws -> RunningProgram {
        try start(Program.executable.path, arguments, environment)
    }

    /// The programs with a working directory in `directory`, such as all processes of a Postgres.
    static func idsRunning(in directory: String) -> [pid_t] {
        let all = (try? FileManager.default.contentsOfDirectory(atPath: "/proc"))?.compactMap { pid_t($0) } ?? []
        return all.filter { id in
            let place = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(id)/cwd")
            return place?.hasPrefix(directory) == true
        }
    }
}

extension TestDatabase { var flags: [String] { ["--database-url", connectionString, "--unsafe-durability"] } }
