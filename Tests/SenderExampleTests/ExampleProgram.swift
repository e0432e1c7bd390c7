import Foundation
import Synchronization

/// A running program. It reads lines from the test and writes to a file.
final class ExampleProgram: Sendable {
    private let process: Mutex<Process>
    private let input: FileHandle
    private let ends: AsyncStream<Int32>
    private let path: String

    private init(_ process: Process, _ input: FileHandle, _ ends: AsyncStream<Int32>, _ path: String) {
        self.process = Mutex(process)
        self.input = input
        self.ends = ends
        self.path = path
    }

    static func start(_ command: [String], _ environment: [String: String], log: String) throws -> ExampleProgram {
        try "".write(toFile: log, atomically: false, encoding: .utf8)
        let process = Process()
        let (input, output) = (Pipe(), FileHandle(forWritingAtPath: log))
        let (ends, continuation) = AsyncStream.makeStream(of: Int32.self)
        process.executableURL = URL(fileURLWithPath: command[0])
        process.arguments = Array(command.dropFirst())
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        process.standardInput = input
        process.standardOutput = output
        process.standardError = output
        process.terminationHandler = { process in
            continuation.yield(process.terminationStatus)
            continuation.finish()
        }
        try process.run()
        return ExampleProgram(process, input.fileHandleForWriting, ends, log)
    }

    /// The output of both streams.
    var log: String { (try? String(contentsOfFile: path, encoding: .utf8)) ?? "" }
    var isRunning: Bool { process.withLock { $0.isRunning } }

    func write(_ line: String) throws { try input.write(contentsOf: Data((line + "\n").utf8)) }

    /// Kills the program, which has nothing to save. It blocks other signals, because it inherits the signal mask of
    /// this process's threads.
    func stop() async {
        process.withLock { _ = kill($0.processIdentifier, SIGKILL) }
        _ = await end()
    }

    func end() async -> Int32 { await ends.first { _ in true } ?? -1 }
}
