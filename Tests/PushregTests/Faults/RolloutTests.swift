import Foundation
import RegistryCore
import Synchronization
import TestSupport
import Testing

/// A rollout of two instances at one Postgres under load, as behind a load balancer.
@Suite(.serialized, .timeLimit(.minutes(15))) struct RolloutTests {
    /// As the guide says: out of the balancer first, then stopped.
    @Test func `Replacing both instances behind a balancer causes no failed request`() async throws {
        let counts = try await Self.roll(figure: "a rollout, taken out first") { url, balancer, load in
            for instance in balancer.instances {
                balancer.remove(instance)
                // The calls that it was given before are answered.
                try await load.answered(more: 100)
                #expect(await instance.stop(SIGTERM) == 0)
                balancer.add(try await ServiceProcess.start(databaseURL: url))
                try await load.answered(more: 200)
            }
        }
        #expect(counts.refused == 0)
        #expect(counts.cutOff == 0)
    }

    /// The balancer learns of it by its connections alone. Those that were kept say with their last answer that it was the last.
    @Test func `Replacing both instances under load loses no response`() async throws {
        let counts = try await Self.roll(figure: "a rollout, stopped under load") { url, balancer, load in
            for instance in balancer.instances {
                #expect(await instance.stop(SIGTERM) == 0)
                // The other one alone has all of the load for a while.
                try await load.answered(more: 200)
                balancer.remove(instance)
                balancer.add(try await ServiceProcess.start(databaseURL: url))
                try await load.answered(more: 200)
            }
        }
        #expect(counts.refused > 0)
        #expect(counts.cutOff == 0)
    }

    /// There is no later migration than this program's, so that of a later release is played: it adds what no statement of
    /// today names. What the release before needs stays, as the guide asks of every migration.
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
            // One that starts now is of the release before.
            let late = try await Program.run(["serve", "--port", "0", "--database-url", url])
            #expect(late.status == 69 && late.words.contains("newer than this program"), "\(late.words)")
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
        #expect(counts.strange == [], "neither 2xx nor 503 with Retry-After")
        var lost = 0
        for (id, token) in load.last {
            let answer = try await balancer.instances[0].call("GET", "\(ServiceProcess.app)/activities/\(id)")
            if try JSONParser.parse(answer.body)["token"] != .string(token) { lost += 1 }
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

/// A load balancer that tries the other instance where one refuses the connection, or closes it without an answer, as nginx does
/// for the methods that may be repeated (`proxy_next_upstream error`).
private final class Balancer: Sendable {
    private let state = Mutex<(instances: [ServiceProcess], next: Int)>(([], 0))
    var instances: [ServiceProcess] { state.withLock { $0.instances } }

    func add(_ instance: ServiceProcess) { state.withLock { $0.instances.append(instance) } }
    func remove(_ instance: ServiceProcess) { state.withLock { $0.instances.removeAll { $0 === instance } } }

    /// The instances in the order in which to try them; each time another one is the first.
    var order: [ServiceProcess] {
        state.withLock { state in
            state.next += 1
            let first = state.next % state.instances.count
            return Array(state.instances[first...] + state.instances[..<first])
        }
    }
}

/// Writers that send the same again where they are told to wait, and nothing else.
private final class BalancedLoad: Sendable {
    struct Counts {
        var answered = 0
        /// 503 with `Retry-After`.
        var waited = 0
        /// Connections that an instance did not take.
        var refused = 0
        /// Requests over a connection that was closed without an answer.
        var cutOff = 0
        var strange: [String] = []
    }

    private let balancer: Balancer
    private let state = Mutex<(counts: Counts, last: [String: String], isOver: Bool)>((Counts(), [:], false))

    init(balancer: Balancer) { self.balancer = balancer }

    var counts: Counts { state.withLock { $0.counts } }
    /// The token of each activity whose registration was acknowledged last.
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
            let token = Hexadecimal.encode(PushToken.sample(1_000_000 * (writer + 1) + step).bytes)
            let body = #"{"token":"\#(token)","aliases":{"testId":"all"}}"#
            let isTaken = try await insist("PUT", "\(ServiceProcess.app)/activities/\(id)", body)
            state.withLock { if isTaken { $0.last[id] = token } }
            _ = try await insist("GET", "\(ServiceProcess.app)/aliases/testId/none/activities", nil)
            step += 1
        }
    }

    /// - Returns: whether it was answered by a 2xx.
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

    /// Asks the instances one after the other, as long as they refuse the connection.
    private func send(_ method: String, _ path: String, _ body: String?) async throws -> ServiceProcess.Answer? {
        for instance in balancer.order {
            do {
                return try await instance.call(method, path, body)
            } catch  where "\(error)".lowercased().contains("refused") {
                state.withLock { $0.counts.refused += 1 }
            } catch {
                state.withLock { $0.counts.cutOff += 1 }
            }
        }
        state.withLock { $0.counts.strange.append("no instance answered") }
        return nil
    }
}
