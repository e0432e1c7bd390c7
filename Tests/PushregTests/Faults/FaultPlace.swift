import Glibc
import TestSupport

/// Two killable instances of the service on one Postgres, one for writers and one for a follower.
actor FaultPlace {
    enum Fault: CaseIterable {
        case writersInstance, postgres, followedInstance
    }

    private let cluster = FaultCluster()
    private var url = ""
    private var running: [ServiceProcess] = []
    var forWriters: ServiceProcess { running[0] }
    var followed: ServiceProcess { running[1] }

    func start() async throws {
        url = try await cluster.start()
        for _ in 0..<2 { running.append(try await service()) }
        try await running[0].makeApp()
    }

    func strike(_ fault: Fault) async throws {
        switch fault {
        case .postgres:
            await cluster.crash()
            url = try await cluster.start()
        case .writersInstance: try await replace(0)
        case .followedInstance: try await replace(1)
        }
    }

    /// Repeats a request to the writers' instance until it gets a response.
    nonisolated func insist(_ call: @Sendable (ServiceProcess) async throws -> ServiceProcess.Answer) async throws {
        try await until(.seconds(240)) {
            guard let answer = try? await call(await forWriters) else { return false }
            return answer.status < 500
        }
    }

    func remove() async {
        for service in running { await service.stop() }
        await cluster.remove()
    }

    private func replace(_ index: Int) async throws {
        await running[index].stop(SIGKILL)
        running[index] = try await service()
    }

    private func service() async throws -> ServiceProcess {
        try await ServiceProcess.start(databaseURL: url, arguments: ["--request-timeout", "PT2S"])
    }
}
