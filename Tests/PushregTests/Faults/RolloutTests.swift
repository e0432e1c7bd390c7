import Foundation
import RegistryCore
import Synchronization
import TestSupport
import Testing

@Suite(.serialized, .timeLimit(.minutes(15))) struct RolloutTests {
    /// As in the guide: removed from the balancer before the stop.
    @Test func `Replacing both instances behind a balancer causes no failed request`() async throws {
        let counts = try await Self.roll(figure: "a rollout, taken out first") { url, balancer, load in
            for instance in balancer.instances {
                balancer.remove(instance)
                // Requests sent earlier get responses.
                try await load.answered(more: 100)
                #expect(await instance.stop(SIGTERM) == 0)
                balancer.add(try await ServiceProcess.start(databaseURL: url))
                try await load.answered(more: 200)
            }
        }
        #expect(counts.refused == 0)
        #expect(counts.cutOff == 0)
    }

    /// The balancer learns of the stop only from connections. The last response on an open connection closes it.
    @Test func `Replacing both instances under load loses no response`() async throws {
        let counts = try await Self.roll(figure: "a rollout, stopped under load") { url, balancer, load in
            for instance in balancer.instances {
                #expect(await instance.stop(SIGTERM) == 0)
                // The other instance carries the whole load for a while.
                try await load.answered(more: 200)
                balancer.remove(instance)
                balancer.add(try await ServiceProcess.start(databaseURL: url))
                try await load.answered(more: 200)
            }
        }
        #expect(counts.refused > 0)
        #expect(counts.cutOff == 0)
    }

    /// Imitates a later release's migration: it adds a table and columns that no current statement uses. It keeps
    /// everything that the previous release needs, as the guide requires.
    @Test func `Running instances stay ready during a later migration`() async throws {
        let counts = try await Self.roll(figure: "a migration under load") { url, balancer, load in
            let script = """
                psql -X -q -v ON_ERROR_STOP=1 "$database" <<'SQL'
                BEGIN;
                ALTER TABLE activities ADD COLUMN later text;
                ALTER TABLE token_values ADD COLUMN later bigint NOT NULL DEFAULT 7;
                CREATE TABLE later (scope_id bigint PRIMARY KEY);
                CREATE INDEX activities_later ON activities (scope_id, later);
                INSERT INTO schema_migrations (version, name, checksum)
                SELECT max(version) + 1, 'later', '' FROM schema_migrations;
                COMMIT;
                SQL
                """
            try await Shell.run(script, ["database": url])
            for instance in balancer.instances { #expect(try await instance.call("GET", "/readyz").status == 200) }
            // An instance that starts now belongs to the previous release.
            let serve = ["serve", "--port", "0", "--database-url", url]
            try await Program.run(serve, gives: 69, "newer than this program")
            try await load.answered(more: 200)
        }
        #expect(counts.refused == 0)
        #expect(counts.cutOff == 0)
    }

    private static func roll(
        figure: String,
        _ incident: (String, Balancer, BalancedLoad) async throws -> Void
    ) async throws -> BalancedLoad.Counts {
        let cluster = FaultCluster()
        let url = try await cluster.start()
        let balancer = Balancer()
        for _ in 0..<2 { balancer.add(try await ServiceProcess.start(databaseURL: url)) }
        try await balancer.instances[0].makeApp()
        let load = BalancedLoad(balancer: balancer)
        let writers = (0..<8).map { writer in Task { try await load.write(writer) } }
        try await load.answered(more: 200)
        try await incident(url, balancer, load)
        load.end()
        for writer in writers { try await writer.value }
        let counts = load.counts
        #expect(counts.strange == [], "only 2xx and 503 with Retry-After are expected")
        var lost = 0
        for (id, token) in load.last {
            let answer = try await balancer.instances[0].call("GET", "…/activities/\(id)")
            if answer.json["token"] != .string(token) { lost += 1 }
        }
        #expect(lost == 0 && !load.last.isEmpty)
        print(
            """
            figure: \(figure): \(counts.answered) answers, \(counts.waited) of 503 besides, \(counts.refused) connections \
            refused, \(counts.cutOff) passed on after a kept connection was closed, \(lost) writes lost
            """
        )
        for instance in balancer.instances { await instance.stop() }
        await cluster.remove()
        return counts
    }
}

/// A load balancer that tries the other instance after a refused connection or, for idempotent methods, after a
/// connection closed without a response, like nginx (`proxy_next_upstream error`).
private final class Balancer: Sendable {
    private let state = Mutex<(instances: [ServiceProcess], next: Int)>(([], 0))
    var instances: [ServiceProcess] { state.withLock { $0.instances } }
    func add(_ instance: ServiceProcess) { state.withLock { $0.instances.append(instance) } }
    func remove(_ instance: ServiceProcess) { state.withLock { $0.instances.removeAll { $0 === instance } } }

    var order: [ServiceProcess] {
        state.withLock { state in
            state.next += 1
            let first = state.next % state.instances.count
            return Array(state.instances[first...] + state.instances[..<first])
        }
    }
}

/// Writers that retry only if the response asks them to wait.
private final class BalancedLoad: Sendable {
    struct Counts {
        var answered = 0
        /// 503 with `Retry-After`.
        var waited = 0
        var refused = 0
        /// Connections closed without a response.
        var cutOff = 0
        var strange: [String] = []
    }

    private let balancer: Balancer
    private let state = Mutex<(counts: Counts, last: [String: String], isOver: Bool)>((Counts(), [:], false))

    init(balancer: Balancer) { self.balancer = balancer }

    var counts: Counts { state.withLock { $0.counts } }
    var last: [String: String] { state.withLock { $0.last } }

    func answered(more: Int) async throws {
        let goal = counts.answered + more
        try await until(.seconds(120)) { counts.answered >= goal }
    }

    func end() { state.withLock { $0.isOver = true } }

    func write(_ writer: Int) async throws {
        var step = 0
        while !state.withLock({ $0.isOver }) {
            // Each activity's token is replaced twice.
            let id = "w\(writer)-\(step / 3)"
            let token = PushToken.sample(1_000_000 * (writer + 1) + step).hexadecimal
            let body = #"{"token":"\#(token)","aliases":{"testId":"all"}}"#
            let isTaken = try await insist("PUT", "…/activities/\(id)", body)
            state.withLock { if isTaken { $0.last[id] = token } }
            _ = try await insist("GET", "…/aliases/testId/none/activities", nil)
            step += 1
        }
    }

    private func insist(_ method: String, _ path: String, _ body: String?) async throws -> Bool {
        while true {
            guard let answer = try await send(method, path, body) else { return false }
            let waits = answer.status == 503 && answer.header("retry-after") != nil
            let isTaken = (200..<300).contains(answer.status)
            state.withLock { state in
                if waits { state.counts.waited += 1 } else { state.counts.answered += 1 }
                if !waits, !isTaken {
                    state.counts.strange.append("\(method) \(path): \(answer.status) \(answer.body)")
                }
            }
            guard waits else { return isTaken }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    private func send(_ method: String, _ path: String, _ body: String?) async throws -> ServiceProcess.Answer? {
        for instance in balancer.order {
            do {
                return try await instance.call(method, path, body)
            } catch  where "\(error)".lowercased().contains("refused") {
                state.withLock { $0.counts.refused += 1 }
            } catch { state.withLock { $0.counts.cutOff += 1 } }
        }
        state.withLock { $0.counts.strange.append("no instance answered") }
        return nil
    }
}
