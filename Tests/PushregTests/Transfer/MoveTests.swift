import Foundation
import RegistryCore
import Synchronization
import TestSupport
import Testing

/// The guide's recipe for the move of an app, with writers who never stop.
@Suite(.timeLimit(.minutes(15))) struct MoveTests {
    private static let document = "Sources/WebAssets/Documentation.docc/RunningInProduction.md"
    private static let writers = 6
    private static let steps = TestScale.isLong ? 400 : 80

    @Test("An app moves while phones write and senders resolve: nothing acknowledged is lost, and nothing is revived")
    func appMovesUnderLoad() async throws {
        let (source, target) = (try await TestDatabase.make(), try await TestDatabase.make())
        let old = try await ServiceProcess.start(
            databaseURL: source.connectionString,
            arguments: ["--unsafe-durability"]
        )
        let new = try await ServiceProcess.start(
            databaseURL: target.connectionString,
            arguments: ["--unsafe-durability"]
        )
        try await old.makeApp()
        let proxy = MovingProxy(to: old)
        let load = MoveLoad(proxy: proxy)
        let resolving = Task { try await load.resolve() }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for writer in 0..<Self.writers { group.addTask { try await load.write(writer, steps: Self.steps) } }
            try await until(.seconds(120)) { load.acknowledged >= Self.writers * Self.steps / 3 }
            // Somebody asks too early, and the new place remembers that there is no such app.
            #expect(try await new.call("GET", "\(ServiceProcess.app)/activities/w0-0").status == 404)
            try await proxy.stopWriters()
            try await Self.runCommands(from: source, to: target)
            // As long as the guide says.
            try await until(.seconds(10)) {
                try await new.call("GET", "\(ServiceProcess.app)/activities/none").body.contains("activity-not-found")
            }
            proxy.send(to: new)
            try await group.waitForAll()
        }
        resolving.cancel()
        let resolved = try await resolving.value
        let (writes, refused) = (load.acknowledged, proxy.refused)
        #expect(writes == Self.writers * Self.steps && refused > 0 && resolved > 0)
        #expect(load.strange == [], "what was answered with neither 2xx nor 503 with Retry-After")
        var lost = 0
        for (id, token) in load.last {
            let answer = try await new.call("GET", "\(ServiceProcess.app)/activities/\(id)")
            let found = try JSONParser.parse(answer.body)
            let isThere = token.map { found["token"] == .string($0) } ?? (found["state"] == .string("ended"))
            if !isThere { lost += 1 }
        }
        #expect(lost == 0 && !load.last.isEmpty)
        print(
            "figure: a move under load: \(writes) writes, \(refused) told to wait, \(resolved) resolves, \(lost) lost"
        )
        #expect(await old.stop() == 0)
        #expect(await new.stop() == 0)
    }

    /// Runs the guide's two commands as they stand there.
    private static func runCommands(from source: TestDatabase, to target: TestDatabase) async throws {
        let file = try TransferFile()
        defer { file.remove() }
        let commands = try await DocumentedCommand.all(of: document).map(\.text).filter { $0.contains("--everything") }
        #expect(commands.count == 2)
        let outcome = try await Program.run(
            URL(fileURLWithPath: "/bin/bash"),
            ["-c", (["set -eu", "cd \(file.directory)"] + commands).joined(separator: "\n")],
            [
                "PATH": "\(Program.executable.deletingLastPathComponent().path):/usr/bin:/bin",
                "DATABASE_URL": source.connectionString, "NEW_DATABASE_URL": target.connectionString,
                "PUSHREG_UNSAFE_DURABILITY": "true",
            ]
        )
        #expect(outcome.status == 0, "\(outcome.results)\(outcome.words)")
    }
}

/// The proxy before two registries, as the guide wants it.
private final class MovingProxy: Sendable {
    private struct State {
        var place: ServiceProcess
        var takesWrites = true
        var underWay = 0
        var refused = 0
    }

    private let state: Mutex<State>

    init(to place: ServiceProcess) { state = Mutex(State(place: place)) }

    var refused: Int { state.withLock { $0.refused } }

    /// Answers 503 to all but reads, and returns once what was under way is answered.
    func stopWriters() async throws {
        state.withLock { $0.takesWrites = false }
        try await until { state.withLock { $0.underWay == 0 } }
    }

    func send(to place: ServiceProcess) {
        state.withLock { ($0.place, $0.takesWrites) = (place, true) }
    }

    /// - Returns: nil for its own 503 with `Retry-After`.
    func call(_ method: String, _ path: String, _ body: String? = nil) async throws -> ServiceProcess.Answer? {
        let place: ServiceProcess? = state.withLock { state in
            guard method == "GET" || state.takesWrites else {
                state.refused += 1
                return nil
            }
            state.underWay += method == "GET" ? 0 : 1
            return state.place
        }
        defer { if method != "GET", place != nil { state.withLock { $0.underWay -= 1 } } }
        return try await place?.call(method, "\(ServiceProcess.app)/\(path)", body)
    }
}

/// Phones that register, rotate and end, and a sender who resolves.
private final class MoveLoad: Sendable {
    private let proxy: MovingProxy
    private let state = Mutex<(acknowledged: Int, last: [String: String?], strange: [String])>((0, [:], []))

    init(proxy: MovingProxy) { self.proxy = proxy }

    var acknowledged: Int { state.withLock { $0.acknowledged } }
    /// The last acknowledgement of each activity: its token, or nil for its end.
    var last: [String: String?] { state.withLock { $0.last } }
    var strange: [String] { state.withLock { $0.strange } }

    func write(_ writer: Int, steps: Int) async throws {
        for step in 0..<steps {
            // Three tokens, then the end.
            let id = "w\(writer)-\(step / 4)"
            let token = WholeApp.token(100_000 + writer * 10_000 + step)
            if step % 4 == 3 {
                try await insist("DELETE", "activities/\(id)", nil)
            } else {
                let body = #"{"token":"\#(token)","aliases":{"orderId":"all"}}"#
                try await insist("PUT", "activities/\(id)", body)
            }
            state.withLock { state in
                state.acknowledged += 1
                state.last[id] = .some(step % 4 == 3 ? nil : token)
            }
        }
    }

    /// Sends the same again until it is taken.
    private func insist(_ method: String, _ path: String, _ body: String?) async throws {
        try await until(.seconds(240)) {
            guard let answer = try await self.proxy.call(method, path, body) else { return false }
            if answer.status == 503, answer.header("retry-after") != nil { return false }
            if !(200..<300).contains(answer.status) { note("\(method) \(path): \(answer.status) \(answer.body)") }
            return true
        }
    }

    /// - Returns: how often all was resolved.
    func resolve() async throws -> Int {
        var count = 0
        while !Task.isCancelled {
            do {
                let answer = try await proxy.call("GET", "aliases/orderId/all/activities?limit=1000")
                if answer?.status != 200 { note("resolve: \(answer?.status ?? 503) \(answer?.body ?? "")") }
                count += 1
            } catch  where Task.isCancelled {
                break
            }
        }
        return count
    }

    private func note(_ text: String) { state.withLock { $0.strange.append(text) } }
}
