import Foundation
import Synchronization

package final class RunningProgram: Sendable {
    private let processID: pid_t
    private let process: Mutex<Process>
    private let input: FileHandle?
    /// The lines of both streams in order, until the program ends.
    private let lines: AsyncStream<String>
    private let seen = Mutex<[String]>([])

    /// - Parameter environment: the whole environment.
    /// - Parameter readsLines: whether ``write(_:)`` is used.
    package static func start(
        _ path: String,
        _ arguments: [String],
        _ environment: [String: String] = [:],
        readsLines: Bool = false
    ) throws -> RunningProgram {
        let (input, output) = (Pipe(), Pipe())
        let process = Process(path, arguments, environment, output, output)
        if readsLines { process.standardInput = input }
        try process.run()
        return RunningProgram(process, readsLines ? input.fileHandleForWriting : nil, output.fileHandleForReading)
    }

    private init(_ process: Process, _ input: FileHandle?, _ output: FileHandle) {
        processID = process.processIdentifier
        self.process = Mutex(process)
        self.input = input
        let continuation: AsyncStream<String>.Continuation
        (lines, continuation) = AsyncStream.makeStream(of: String.self)
        Thread.detachNewThread { [self] in
            var rest: [UInt8] = []
            while case let chunk = output.availableData, !chunk.isEmpty {
                rest += chunk
                while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                    let line = String(decoding: rest[..<end], as: UTF8.self)
                    seen.withLock { $0.append(line) }
                    continuation.yield(line)
                    rest.removeFirst(end + 1)
                }
            }
            continuation.finish()
        }
    }

    /// Writes to the program's standard input.
    package func write(_ line: String) throws { try input?.write(contentsOf: Data((line + "\n").utf8)) }

    /// Peak resident memory in KiB.
    package var peakMemory: Int {
        let status = (try? String(contentsOfFile: "/proc/\(processID)/status", encoding: .utf8)) ?? ""
        return status.firstMatch(of: /VmHWM:\s+(\d+) kB/).flatMap { Int($0.1) } ?? 0
    }

    package var isRunning: Bool { process.withLock { $0.isRunning } }
    package var text: String { seen.withLock { $0.joined(separator: "\n") } }

    /// Waits for a line that contains `text`; nil if the program ends without it.
    package func line(with text: String) async -> String? { await lines.first { $0.contains(text) } }
    package func send(_ signal: Int32) { kill(processID, signal) }

    /// Sends a signal to the program's group, as Ctrl-C in a terminal does.
    package func sendToGroup(_ signal: Int32) { kill(-processID, signal) }

    /// - Returns: the exit code, or the negated number of the signal that killed it.
    package func end() async -> Int32 {
        while await line(with: "") != nil {}
        return await onOwnThread {
            self.process.withLock { process in
                process.waitUntilExit()
                return process.terminationReason == .exit ? process.terminationStatus : -process.terminationStatus
            }
        }
    }
}
