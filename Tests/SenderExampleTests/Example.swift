import Foundation
import TestSupport
import Testing

/// The senders in the guide's links, by language.
enum Example: String, CaseIterable, Sendable, CustomTestStringConvertible {
    case python = "sender.py"
    case node = "sender.mjs"
    case go = "sender.go"
    case swift = "sender.swift"

    var testDescription: String { rawValue }

    var source: String {
        get throws {
            let path = "Sources/WebAssets/Documentation.docc/Examples/\(rawValue)"
            return try String(contentsOf: ProjectFiles.root.appendingPathComponent(path), encoding: .utf8)
        }
    }

    /// Prepares the command that runs it in a directory for the test. Does nothing if its language is not installed.
    ///
    /// - Parameter change: breaks a rule in its text, as a control.
    func prepare(
        _ change: (String) -> String = { $0 },
        _ test: (_ command: [String]) async throws -> Void
    ) async throws {
        let directory = "/tmp/pushreg-sender-\(UUID().uuidString.prefix(8))"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        guard let command = try await command(in: directory, change) else {
            print("left out \(rawValue): what it runs on is not to be had here")
            return
        }
        try await test(command)
    }

    private func command(in directory: String, _ change: (String) -> String) async throws -> [String]? {
        let file = "\(directory)/\(rawValue)"
        let text = change(try source)
        try text.write(toFile: file, atomically: true, encoding: .utf8)
        switch self {
        case .python: return try await Self.python().map { [$0, file] }
        case .node: return Self.find("node").map { [$0, file] }
        case .go:
            guard let go = Self.find("go") else { return nil }
            let built = "\(directory)/sender"
            try await Self.shell("GO111MODULE=off '\(go)' build -o '\(built)' '\(file)'")
            return [built]
        case .swift: return [Self.built("SenderExample")]
        }
    }

    /// A product of the package, in the tests' build directory.
    private static func built(_ name: String) -> String {
        URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
            .appendingPathComponent(name).path
    }

    private static func shell(_ script: String) async throws {
        try await Shell.run(script, ProcessInfo.processInfo.environment)
    }

    private static func find(_ program: String) -> String? {
        let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
        return path.split(separator: ":").map { "\($0)/\(program)" }.first(where: FileManager.default.isExecutableFile)
    }

    /// The interpreter of an environment with the example's packages from PyPI, installed once.
    private static func python() async throws -> String? {
        guard let python = find("python3") else { return nil }
        let environment = ProcessInfo.processInfo.environment
        let home = (environment["HOME"] ?? "/tmp") + "/.cache"
        let cache = environment["XDG_CACHE_HOME"].flatMap { $0.isEmpty ? nil : $0 } ?? home
        let place = "\(cache)/pushreg/sender-example-1"
        if FileManager.default.fileExists(atPath: place + "/complete") { return place + "/bin/python" }
        do {
            let packages = "'httpx[http2]==0.28.1' 'pyjwt[crypto]==2.15.1'"
            try await shell("'\(python)' -m venv '\(place)' && '\(place)/bin/pip' install -q \(packages)")
        } catch { return nil }
        try "".write(toFile: place + "/complete", atomically: true, encoding: .utf8)
        return place + "/bin/python"
    }
}

extension RunningProgram {
    /// Starts an example, which reads lines and has the environment of the tests.
    static func start(_ command: [String], _ more: [String: String]) throws -> RunningProgram {
        let environment = ProcessInfo.processInfo.environment.merging(more) { $1 }
        return try start(command[0], Array(command.dropFirst()), environment, readsLines: true)
    }

    /// Kills the program, which has nothing to save. It blocks other signals, because it inherits the signal mask of
    /// this process's threads.
    func kill() async {
        send(SIGKILL)
        _ = await end()
    }
}
