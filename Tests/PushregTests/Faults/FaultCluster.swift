import EmbeddedPostgres
import Foundation
import TestSupport

actor FaultCluster {
    let directory: String
    private let settings: [String: String]
    private var postgres: EmbeddedPostgres?

    /// - Parameter directory: an existing cluster; a new one by default.
    init(settings: [String: String] = [:], in directory: String? = nil) {
        self.directory = directory ?? "/tmp/pushreg-fault-\(getpid())-\(UInt32.random(in: 0 ..< .max))"
        self.settings = settings
    }

    @discardableResult
    func start() async throws -> String {
        let opened = try await EmbeddedPostgres.open(directory, settings: settings, logger: .silent)
        postgres = opened
        return opened.connectionString
    }

    /// Signals all processes of Postgres at once, like a crash of the machine.
    func signal(_ signal: Int32) {
        guard let postmaster = postgres?.serverPID else { return }
        for child in Self.children(of: postmaster) + [postmaster] { kill(child, signal) }
    }

    func crash() async {
        guard let postmaster = postgres?.serverPID else { return }
        signal(SIGKILL)
        while kill(postmaster, 0) == 0, !Self.isZombie(postmaster) { await Task.yield() }
        await postgres?.close()
        postgres = nil
    }

    func stop() async {
        await postgres?.close()
        postgres = nil
    }

    func remove() async {
        await stop()
        try? FileManager.default.removeItem(atPath: directory)
    }

    private static func children(of parent: pid_t) -> [pid_t] {
        let processes = (try? FileManager.default.contentsOfDirectory(atPath: "/proc"))?.compactMap { pid_t($0) } ?? []
        return processes.filter { stat(of: $0)?.parent == parent }
    }

    private static func isZombie(_ process: pid_t) -> Bool { stat(of: process)?.state == "Z" }

    /// State and parent follow the name in parentheses.
    private static func stat(of process: pid_t) -> (state: Substring, parent: pid_t)? {
        guard let text = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8),
            let end = text.lastIndex(of: ")")
        else { return nil }
        let fields = text[end...].split(separator: " ")
        return fields.count > 2 ? (fields[1], pid_t(fields[2]) ?? 0) : nil
    }
}
