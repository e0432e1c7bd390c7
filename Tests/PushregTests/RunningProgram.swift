import Foundation
import Synchronization

final class RunningProgram: Sendable {
    let processID: pid_t
    private let process: Mutex<Process>
    /// The lines of both streams in order, until the program ends.
    private let lines: AsyncStream<String>
    private let seen = Mutex<[String]>([])

    private init(_ process: Process, _ lines: AsyncStream<String>) {
        processID = process.processIdentifier
        self.process = Mutex(process)
        self.lines = lines
    }

    /// Starts a command with only the given environment.
    static func start(_ arguments: [String], environment: [String: String] = [:]) throws -> RunningProgram {
        try start(Program.executable, arguments, environment)
    }

    static func start(
        _ program: URL,
        _ arguments: [String],
        _ environment: [String: String] = [:]
    ) throws -> RunningProgram {
        let output = Pipe()
        let process = Process(program, arguments, environment, output, output)
        try process.run()
        return RunningProgram(process, read(output.fileHandleForReading))
    }

    private static func read(_ output: FileHandle) -> AsyncStream<String> {
        let (lines, continuation) = AsyncStream.makeStream(of: String.self)
        Thread.detachNewThread {
            var rest: [UInt8] = []
            while case let chunk = output.availableData, !chunk.isEmpty {
                rest += chunk
                while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                    continuation.yield(String(decoding: rest[..<end], as: UTF8.self))
                    rest.removeFirst(end + 1)
                }
            }
            continuation.finish()
        }
        return lines
    }

    var isRunning: Bool { process.withLock { $0.isRunning } }
    var text: String { seen.withLock { $0.joined(separator: "\n") } }

    /// Waits for a line that contains `text`; nil if the program ends without it.
    func line(with text: String) async -> String? {
        for await line in lines {
            seen.withLock { $0.append(line) }
            if line.contains(text) { return line }
        }
        return nil
    }

    func send(_ signal: Int32) { kill(processID, signal) }

    /// Sends a signal to the program's group, as Ctrl-C in a terminal does.
    func sendToGroup(_ signal: Int32) { kill(-processID, signal) }

    /// - Returns: the exit code, or the negated number of the signal that killed it.
    func end() async -> Int32 {
        while await line(with: "") != nil {}
        return await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                let status = self.process.withLock { process in
                    process.waitUntilExit()
                    return process.terminationReason == .exit ? process.terminationStatus : -process.terminationStatus
                }
                continuation.resume(returning: status)
            }
        }
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
