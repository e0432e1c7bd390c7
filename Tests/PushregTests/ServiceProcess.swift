import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import RegistryCore
import Synchronization

/// The built `pushreg serve` as a process of its own, and calls to it.
final class ServiceProcess: Sendable {
    let port: Int
    let processID: pid_t
    private let process: Mutex<Process>

    private init(port: Int, process: Process) {
        self.port = port
        processID = process.processIdentifier
        self.process = Mutex(process)
    }

    /// Starts the service on a database and waits until it says that it accepts requests.
    static func start(databaseURL: String, arguments: [String] = []) async throws -> ServiceProcess {
        try await start(database: ["--database-url", databaseURL, "--migrate"], arguments: arguments)
    }

    /// - Parameter database: the flags that say which database.
    /// - Parameter isInsecure: whether requests without credentials act as root.
    static func start(
        database: [String],
        arguments: [String] = [],
        isInsecure: Bool = true
    ) async throws -> ServiceProcess {
        let process = Process()
        process.executableURL = Program.executable
        // Other tests share the machine: a call may take longer than a caller should wait.
        process.arguments =
            ["serve", "--port", "0", "--request-timeout", "PT20S"] + (isInsecure ? ["--insecure-no-auth"] : [])
            + database
            + arguments
        let errors = Pipe()
        process.standardError = errors
        process.standardOutput = FileHandle.nullDevice
        process.standardInput = FileHandle.nullDevice
        try process.run()
        let port = try await readyPort(in: errors.fileHandleForReading)
        return ServiceProcess(port: port, process: process)
    }

    /// Reads the service's log up to the line that names its address; the rest is read and dropped.
    private static func readyPort(in log: FileHandle) async throws -> Int {
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread {
                var text = ""
                var isReady = false
                while true {
                    let chunk = log.availableData
                    guard !chunk.isEmpty else { break }
                    guard !isReady else { continue }
                    text += String(decoding: chunk, as: UTF8.self)
                    if let match = text.firstMatch(of: /"addresses":\["http:\/\/127\.0\.0\.1:(\d+)"\]/),
                        let port = Int(match.1)
                    {
                        isReady = true
                        continuation.resume(returning: port)
                    }
                }
                if !isReady {
                    continuation.resume(throwing: ServiceFault(detail: "the service did not start: \(text)"))
                }
            }
        }
    }

    func kill(_ signal: Int32) { _ = Glibc.kill(processID, signal) }

    /// Ends the service and waits until its process is gone.
    ///
    /// - Returns: its exit code.
    @discardableResult
    func stop(_ signal: Int32 = SIGTERM) async -> Int32 {
        kill(signal)
        return await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                let status = self.process.withLock { process in
                    process.waitUntilExit()
                    return process.terminationStatus
                }
                continuation.resume(returning: status)
            }
        }
    }

    /// The most memory that was ever resident, in MiB.
    var peakMemory: Int {
        let status = (try? String(contentsOfFile: "/proc/\(processID)/status", encoding: .utf8)) ?? ""
        return (status.firstMatch(of: /VmHWM:\s+(\d+) kB/).flatMap { Int($0.1) } ?? 0) / 1024
    }
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

        func header(_ name: String) -> String? { headers.first { $0.0.lowercased() == name }?.1 }
    }

    static let app = "/v1/apps/com.example.food/sandbox"

    /// Has a connection for every caller: with the shared client's eight, one would wait for the answers of others.
    private static let client: HTTPClient = {
        var configuration = HTTPClient.Configuration.singletonConfiguration
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 256
        // A caller who is refused is told so, and does not wait until somebody listens.
        configuration.connectionPool.retryConnectionEstablishment = false
        return HTTPClient(configuration: configuration)
    }()

    func makeApp() async throws {
        _ = try await call("PUT", "/v1/apps/com.example.food", "{}")
    }

    /// Registers an activity under an alias; the token is made of the number.
    func register(_ id: String, number: Int, alias: String = "fault") async throws -> Answer {
        let token = String(repeating: "0", count: 16 - String(number, radix: 16).count) + String(number, radix: 16)
        let body = #"{"token":"\#(token)ab","aliases":{"testId":"\#(alias)"}}"#
        return try await call("PUT", "\(Self.app)/activities/\(id)", body)
    }

    /// - Parameter key: the credentials, where the caller has some.
    func call(_ method: String, _ path: String, _ body: String? = nil, key: String? = nil) async throws -> Answer {
        var request = HTTPClientRequest(url: "http://127.0.0.1:\(port)\(path)")
        request.method = .RAW(value: method)
        if let key { request.headers.add(name: "Authorization", value: "Bearer \(key)") }
        if let body {
            request.headers.add(name: "Content-Type", value: "application/json")
            request.body = .bytes(ByteBuffer(string: body))
        }
        let clock = ContinuousClock()
        let start = clock.now
        let response = try await Self.client.execute(request, timeout: .seconds(20))
        let text = String(buffer: try await response.body.collect(upTo: 1 << 24))
        return Answer(
            status: Int(response.status.code),
            headers: response.headers.map { ($0.name, $0.value) },
            body: text,
            duration: clock.now - start
        )
    }
}
