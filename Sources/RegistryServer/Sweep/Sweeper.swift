import Foundation
import Logging
import RegistryCore
import RegistryStore
import ServiceLifecycle

/// Stores counts of activities and tokens, records expiries, and deletes rows after their retention, in small steps.
///
/// Correctness does not depend on its timing: expired tokens are withheld, swept or not. All instances share the work.
/// Each page is a transaction that waits for no lock. An interrupted sweep continues with the next one.
struct Sweeper: Service {
    let registry: Registry
    let interval: Duration
    let logger: Logger
    let metrics: RecordedMetrics

    /// Rows per transaction, kept low so other writers do not wait.
    private static let pageSize = 500
    /// The pause after a page, as a multiple of the page's duration, which grows under load.
    private static let rest = 2.0

    func run() async {
        await cancelWhenGracefulShutdown {
            while true {
                // Prevents instances that start together from sweeping together.
                let jitter = Double.random(in: 0.5..<1.5)
                guard (try? await Task.sleep(for: interval * jitter)) != nil else { return }
                await sweepOnce()
            }
        }
    }

    /// Counts for each search of all unrecorded expiries. The search takes long beside an old snapshot.
    private static let countsPerSearch = 60

    /// Failures in a row before a sweep is aborted, because each attempt can take as long as a request.
    private static let mostFailures = 5

    /// Does all due work. A failure in one app is logged and left for the next sweep. The order of apps is random, so
    /// that no app always follows the failing ones.
    func sweepOnce() async {
        let start = ContinuousClock.now
        do {
            let isRenewed = try await attempt("event-partitions") { _ = try await registry.renewEventPartitions() }
            let isFreed = try await attempt("deleted apps") { _ = try await registry.finishDeletions() }
            let scopes = try await registry.apps().shuffled().flatMap { app in
                APNSEnvironment.allCases.map { Scope(app: app, environment: $0) }
            }
            // For metrics and charts only, so a failure does not affect the sweep.
            _ = try await attempt("counts of ", scopes, count)
            let isSwept = try await attempt("", scopes, sweep)
            recordSweep(isComplete: isRenewed && isFreed && isSwept, since: start)
        } catch is CancellationError {
        } catch {
            logger.warning("a sweep was given up", metadata: ["error": "\(error)"])
            recordSweep(isComplete: false, since: start)
        }
    }

    /// False after a failure. Skips the other scopes after ``mostFailures`` in a row.
    private func attempt(_ kind: String, _ scopes: [Scope], _ body: (Scope) async throws -> Void) async throws -> Bool {
        var (failures, isComplete) = (0, true)
        for scope in scopes where failures < Self.mostFailures {
            let part = "\(kind)\(scope.app.bundleID) \(scope.environment.rawValue)"
            let isDone = try await attempt(part) { try await body(scope) }
            failures = isDone ? 0 : failures + 1
            isComplete = isComplete && isDone
        }
        return isComplete
    }

    /// False after a failure, which is logged. Only cancellation throws.
    private func attempt(_ part: String, _ body: () async throws -> Void) async throws -> Bool {
        do {
            try await body()
            return true
        } catch let error as CancellationError {
            throw error
        } catch {
            logger.warning("a part of a sweep failed", metadata: ["part": "\(part)", "error": "\(error)"])
            return false
        }
    }

    private func recordSweep(isComplete: Bool, since start: ContinuousClock.Instant) {
        metrics.counter(isComplete ? .sweeps : .sweepFailures).increment()
        let duration = ContinuousClock.now - start
        metrics.lastSweep = Sweep(endedAt: Date(), duration: duration, isComplete: isComplete)
    }

    private func count(_ scope: Scope) async throws {
        let start = ContinuousClock.now
        try await registry.counts(in: scope, searchesAll: Int.random(in: 0..<Self.countsPerSearch) == 0)
        try await Task.sleep(for: (ContinuousClock.now - start) * Self.rest)
    }

    private func sweep(_ scope: Scope) async throws {
        for task in SweepTask.allCases {
            var (total, position) = (0, nil as Timestamp?)
            while true {
                let start = ContinuousClock.now
                let page = try await registry.sweep(task, limit: Self.pageSize, from: position, in: scope)
                metrics.counter(.sweptRows, [("task", task.rawValue)]).increment(by: page.count)
                total += page.count
                position = page.start
                guard page.count == Self.pageSize else { break }
                try await Task.sleep(for: (ContinuousClock.now - start) * Self.rest)
            }
            guard total > 0 else { continue }
            let place: Logger.Metadata = [
                "app": "\(scope.app.bundleID)", "environment": "\(scope.environment.rawValue)",
            ]
            logger.info("swept", metadata: place.merging(["task": "\(task.rawValue)", "rows": "\(total)"]) { $1 })
        }
    }
}

struct Sweep: Sendable, Hashable {
    let endedAt: Date
    let duration: Duration
    let isComplete: Bool
}
