import Foundation
import PostgresDriver
import TestSupport
import Testing

@Suite struct HostTests {
    private func string(_ ports: [Int], _ more: String = "") -> String {
        let hosts = ports.map { _ in "127.0.0.1" }.joined(separator: ",")
        let list = ports.map(String.init).joined(separator: ",")
        return "host=\(hosts) port=\(list) user=postgres dbname=postgres sslmode=disable \(more)"
    }

    private func answeringPort(_ pool: PostgresPool) async throws -> Int {
        try await pool.value(Int.self, "SELECT inet_server_port()")
    }

    @Test(arguments: [false, true]) func `A host that refuses is skipped, also in a URI`(isURI: Bool) async throws {
        let (dead, alive) = (try FreePort.take(), try await ThrowawayCluster.shared.port)
        let uri = "postgresql://postgres@127.0.0.1:\(dead),127.0.0.1:\(alive)/postgres?sslmode=disable"
        try await withPool(1, on: isURI ? uri : string([dead, alive])) { pool async throws in
            #expect(try await answeringPort(pool) == alive)
            #expect(pool.statistics.failures == 0)
        }
    }

    @Test func `A frozen host uses only its share of the connect timeout`() async throws {
        let alive = try await ThrowawayCluster.shared.port
        let frozen = [try SilentListener(), try SilentListener()]
        let ports = [frozen[0].port, alive, frozen[1].port]
        let configuration = try await ownSchema(1, on: string(ports)) { $0.connectTimeout = .seconds(6) }
        try await withPool(configuration: configuration) { pool async throws in
            let start = ContinuousClock.now
            #expect(try await answeringPort(pool) == alive)
            #expect((.seconds(2) ..< .seconds(5)).contains(start.duration(to: .now)))
        }
        withExtendedLifetime(frozen) {}
    }

    @Test func `Hosts from a service file get their shares of the connect timeout`() async throws {
        let alive = try await ThrowawayCluster.shared.port
        let frozen = try SilentListener()
        let file = "/tmp/pushreg-service-\(UUID())"
        let service = string([frozen.port, alive]).split(separator: " ").joined(separator: "\n")
        try "[both]\n\(service)\n".write(toFile: file, atomically: true, encoding: .utf8)
        defer { unlink(file) }
        setenv("PGSERVICEFILE", file, 1)
        let configuration = try await ownSchema(1, on: "service=both") { $0.connectTimeout = .seconds(6) }
        try await withPool(configuration: configuration) { pool async throws in
            #expect(try await answeringPort(pool) == alive)
        }
        withExtendedLifetime(frozen) {}
    }

    @Test func `A read-only server is not a target for writes`() async throws {
        let readOnly = try await ThrowawayCluster.start(settings: ["default_transaction_read_only": "on"])
        let primary = try await ThrowawayCluster.shared.port
        let both = string([readOnly.port, primary], "target_session_attrs=read-write")
        try await withPool(1, on: both) { pool async throws in #expect(try await answeringPort(pool) == primary) }
        let alone = PostgresConfiguration(connectionString: string([readOnly.port], "target_session_attrs=read-write"))
        try await withPool(configuration: alone) { pool in
            let error = try await postgresError { try await pool.run("SELECT 1") }
            #expect(error.code == .connectionFailed)
            #expect(error.message?.contains("read-only") == true)
        }
    }

    @Test func `After a demotion, the other host is used without an error`() async throws {
        let old = try await ThrowawayCluster.start()
        let new = try await ThrowawayCluster.shared
        try await withPool(2, on: string([old.port, new.port], "target_session_attrs=read-write")) { pool in
            #expect(try await bothReadOnly(pool) == [false, false])
            try await demote(old)
            // Each backend reloads its configuration at its own time.
            try await until { try await bothReadOnly(pool) == [true, true] }
            let port = try await pool.transact { transaction in
                let port = try transaction.execute("SELECT inet_server_port()")[0].decode(Int.self)
                _ = try transaction.execute("CREATE TABLE written (id int)")
                return port
            }
            #expect(port == new.port)
            #expect(pool.statistics.open == 1)
            try await expectNoConnections(named: pool.value(String.self, "SHOW application_name"), on: old)
        }
    }

    /// Connections replace plans that are too old before they run the statement.
    @Test(
        arguments: [nil, Duration.zero]
    ) func `A server that freezes delays calls by one deadline, not one per connection`(planLifetime: Duration?)
        async throws
    {
        let (frozen, other) = (try await ThrowawayCluster.start(), try await ThrowawayCluster.shared)
        let configuration = try await ownSchema(4, on: string([frozen.port, other.port])) {
            $0.planLifetime = planLifetime
        }
        try await withPool(configuration: configuration) { pool in
            let backends = try await pool.meet("SELECT pg_backend_pid()")
            #expect(Set(backends).count == 4)
            let stopped = try [frozen.postmaster()] + backends.map { pid_t($0) }
            for process in stopped { kill(process, SIGSTOP) }
            defer { for process in stopped { kill(process, SIGCONT) } }
            try await expectNoAnswer(pool)
            let start = ContinuousClock.now
            #expect(try await pool.meet("SELECT inet_server_port()") == [Int](repeating: other.port, count: 4))
            // A connect that tried the frozen server first would take half of the ten seconds.
            #expect(start.duration(to: .now) < .seconds(4))
        }
    }

    @Test func `An attempt waits only half a second for a server known to be frozen`() async throws {
        let frozen = try await ThrowawayCluster.start()
        let port = try FreePort.take()
        try await withPool(1, on: string([frozen.port, port])) { pool in
            let stopped = [try frozen.postmaster(), pid_t(try await pool.value(Int.self, "SELECT pg_backend_pid()"))]
            for process in stopped { kill(process, SIGSTOP) }
            defer { for process in stopped { kill(process, SIGCONT) } }
            try await expectNoAnswer(pool)
            // Each attempt would wait ten seconds for this server.
            let start = ContinuousClock.now
            for _ in 0..<3 { _ = try await postgresError { _ = try await answeringPort(pool) } }
            #expect(start.duration(to: .now) < .seconds(6))
        }
    }

    @Test(.pool(2)) func `A slow statement closes only its own connection while the server answers others`()
        async throws
    {
        let backends = try await pool.meet("SELECT pg_backend_pid()", width: 2)
        let isOver = Counter()
        async let slow = postgresError {
            defer { isOver.increment() }
            try await pool.withSession(timeout: .seconds(2)) { _ = try $0.execute("SELECT pg_sleep(20)") }
        }
        // One caller keeps the other connection, like a worker that runs one batch after another.
        let other = try await pool.withSession { session in
            var backend = 0
            while isOver.value == 0 { backend = try session.execute("SELECT pg_backend_pid()")[0].decode(Int.self) }
            return backend
        }
        #expect(try await slow.code == .deadlineExceeded)
        #expect(try await pool.value(Int.self, "SELECT pg_backend_pid()") == other)
        #expect(backends.contains(other))
        #expect(pool.statistics.connects == 2)
    }

    @Test(.pool(2)) func `A caller with little time does not mark the server as frozen`() async throws {
        let backends = try await pool.meet("SELECT pg_backend_pid()", width: 2)
        let error = try await postgresError {
            try await pool.withSession(timeout: .milliseconds(100)) { _ = try $0.execute("SELECT pg_sleep(20)") }
        }
        #expect(error.code == .deadlineExceeded)
        let last = try await pool.value(Int.self, "SELECT pg_backend_pid()")
        #expect(backends.contains(last))
        #expect(pool.statistics.connects == 2)
    }

    @Test func `After a thaw a read goes to another server, and a write's outcome is unknown`() async throws {
        let (frozen, other) = (try await ThrowawayCluster.start(), try await ThrowawayCluster.shared)
        try await withPool(3, on: string([frozen.port, other.port])) { pool in
            let backends = try await pool.meet("SELECT pg_backend_pid()", width: 3)
            for backend in backends { kill(pid_t(backend), SIGSTOP) }
            kill(try frozen.postmaster(), SIGSTOP)
            let port: SQL = "SELECT inet_server_port()"
            async let read = pool.withSession(.idempotentRead) { try $0.execute(port)[0].decode(Int.self) }
            async let write = postgresError { try await pool.withSession { _ = try $0.pipeline([port]) } }
            try await until { pool.statistics.busy == 2 }
            try await expectNoAnswer(pool)
            for backend in backends { kill(pid_t(backend), SIGCONT) }
            kill(try frozen.postmaster(), SIGCONT)
            #expect(try await read == other.port)
            let unknown = try await write
            #expect(unknown.code == .connectionLost && !unknown.isSafeToRetry)
        }
    }

    /// Queries a frozen server with a timeout of two seconds.
    private func expectNoAnswer(_ pool: PostgresPool) async throws {
        let error = try await postgresError {
            try await pool.withSession(timeout: .seconds(2)) { _ = try $0.execute("SELECT 1") }
        }
        #expect(error.code == .deadlineExceeded)
    }

    @Test(.pool(2)) func `The timeout of a call with many statements closes no other connection`() async throws {
        _ = try await bothReadOnly(pool)
        let error = try await postgresError {
            try await pool.withSession(timeout: .seconds(2)) { session in
                let backend = try session.execute("SELECT pg_backend_pid()")[0].decode(Int.self)
                let end = ContinuousClock.now + .milliseconds(1500)
                while ContinuousClock.now < end { _ = try session.execute("SELECT 1") }
                kill(pid_t(backend), SIGSTOP)
                defer { kill(pid_t(backend), SIGCONT) }
                _ = try session.execute("SELECT 1")
            }
        }
        #expect(error.code == .deadlineExceeded)
        try await pool.run("SELECT 1")
        #expect(pool.statistics.connects == 2)
    }

    private func bothReadOnly(_ pool: PostgresPool) async throws -> [Bool] {
        try await pool.meet("SELECT current_setting('default_transaction_read_only')::bool", as: Bool.self, width: 2)
    }

    private func demote(_ cluster: ThrowawayCluster) async throws {
        try await withPool(1, on: cluster.socketString) { pool in
            try await pool.withSession { try $0.simple("ALTER SYSTEM SET default_transaction_read_only = on") }
            try await pool.run("SELECT pg_reload_conf()")
        }
    }

    private func expectNoConnections(named name: String, on cluster: ThrowawayCluster) async throws {
        let configuration = PostgresConfiguration(connectionString: cluster.socketString)
        try await withPool(configuration: configuration) { pool in
            try await until {
                try await pool.value(Int.self, "SELECT count(*) FROM pg_stat_activity WHERE application_name = \(name)")
                    == 0
            }
        }
    }
}
