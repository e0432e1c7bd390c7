import Foundation
import Logging
import RegistryCore
import RegistryStore
import ServiceLifecycle

/// Stores counts of activities and tokens, records expiries, and deletes rows after their retention, in small steps.
///
/// Correctness does not depend on its timing: expired tokens are withheld, swept or not. All instances share the work.
/// Each page is a transaction that waits for no lock. The next sweep continues an unfinished one.
struct Sweeper: Service {
    let registry: Registry
    let interval: Duration
    let logger: Logger
    let metrics: RecordedMetrics
    /// Rows per transaction, kept low so other writers do not wait.
    var pageSize = 500

    /// The pause after a page, as a multiple of the page's duration, which grows under load.
    private static let rest = 2.0

    func run() async {
        await cancelWhenGracefulShutdown {
            var start = ContinuousClock.now
            while true {
                // Prevents instances that start together from sweeping together.
                let jitter = Double.random(in: 0.5..<1.5)
                guard (try? await Task.sleep(until: start + interval * jitter)) != nil else { return }
                start = .now
                await sweepOnce()
            }
        }
    }

    /// Counts for each search of all unrecorded expiries. The search takes long beside an old snapshot.
    private static let countsPerSearch = 60

    /// Failures in a row before the other parts are skipped, because each attempt can take as long as a request.
    private static let mostFailures = 5

    /// Does a page of each part, and then more pages for the interval at most. A part that fails is logged and left for
    /// the next sweep. The order of apps is random, so that no app always follows the failing ones.
    func sweepOnce() async {
        let start = ContinuousClock.now
        do {
            let isRenewed = try await attempt("event-partitions") { _ = try await registry.renewEventPartitions() }
            let isFreed = try await attempt("deleted apps") { _ = try await registry.finishDeletions() }
            let scopes = try await registry.apps().shuffled().flatMap { app in
                APNSEnvironment.allCases.map { Scope(app: app, environment: $0) }
            }
            // For metrics and charts only, so a failure does not affect the sweep.
            _ = try await attempt(scopes, named: { "counts of \($0.place)" }, count)
            let isSwept = try await sweep(scopes)
            recordSweep(isComplete: isRenewed && isFreed && isSwept, since: start)
        } catch is CancellationError {
        } catch {
            logger.warning("a sweep was given up", metadata: ["error": "\(error)"])
            recordSweep(isComplete: false, since: start)
        }
    }

    /// False after a failure. Skips the other parts after ``mostFailures`` in a row.
    private func attempt<Part>(
        _ parts: [Part],
        named name: (Part) -> String,
        _ body: (Part) async throws -> Void
    ) async throws -> Bool {
        var (failures, isComplete) = (0, true)
        for part in parts where failures < Self.mostFailures {
            let isDone = try await attempt(name(part)) { try await body(part) }
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
        metrics.lastSweep = Sweep(endedAt: Date(), duration: ContinuousClock.now - start, isComplete: isComplete)
    }

    private func count(_ scope: Scope) async throws {
        let start = ContinuousClock.now
        try await registry.counts(in: scope, searchesAll: Int.random(in: 0..<Self.countsPerSearch) == 0)
        try await Task.sleep(for: (ContinuousClock.now - start) * Self.rest)
    }

    /// Does a page of each part in turn, so that no backlog delays another part.
    private func sweep(_ scopes: [Scope]) async throws -> Bool {
        var parts = SweepTask.allCases.flatMap { task in scopes.map { SweepPart(task: task, scope: $0) } }
        var isComplete = true
        func sweepPages() async throws {
            var unfinished: [SweepPart] = []
            let isDone = try await attempt(parts, named: \.name) { part in
                var part = part
                let start = ContinuousClock.now
                let page = try await registry.sweep(part.task, limit: pageSize, from: part.start, in: part.scope)
                metrics.counter(.sweptRows, [("task", part.task.rawValue)]).increment(by: page.count)
                (part.start, part.rows) = (page.start, part.rows + page.count)
                guard page.count == pageSize else { return logRows(of: part) }
                unfinished.append(part)
                try await Task.sleep(for: (ContinuousClock.now - start) * Self.rest)
            }
            isComplete = isComplete && isDone
            parts = unfinished
        }
        try await sweepPages()
        let end = ContinuousClock.now + interval
        while !parts.isEmpty && ContinuousClock.now < end { try await sweepPages() }
        parts.forEach(logRows)
        return isComplete
    }

    private func logRows(of part: SweepPart) {
        guard part.rows > 0 else { return }
        logger.info("swept", metadata: ["part": "\(part.name)", "rows": "\(part.rows)"])
    }
}

/// A task in one app and environment.
private struct SweepPart {
    let task: SweepTask
    let scope: Scope
    /// The start of the next page.
    var start: Timestamp?
    var rows = 0

    var name: String { "\(task.rawValue) of \(scope.place)" }
}

extension Scope { fileprivate var place: String { "\(app.bundleID) \(environment.rawValue)" } }

struct Sweep: Sendable, Hashable {
    let endedAt: Date
    let duration: Duration
    let isComplete: Bool
}
