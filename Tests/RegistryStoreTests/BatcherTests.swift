import RegistryCore
import Synchronization
import Testing

@testable import RegistryStore

/// Requests received during a batch share the next batch, and the fault of one request does not affect others.
@Suite(.timeLimit(.minutes(15))) struct BatcherTests {
    /// Doubles numbers; negative numbers are faults. The first batch waits for its release.
    private final class Doubler: Sendable {
        let batches = Mutex<[[Int]]>([])
        private let gate = AsyncStream.makeStream(of: Void.self)
        private let fault: Problem.Code

        init(fault: Problem.Code = .invalidRequest) { self.fault = fault }

        func open() { gate.continuation.finish() }

        func perform(_ numbers: [Int]) async throws -> [Result<Int, Problem>] {
            let isFirst = batches.withLock { batches in
                batches.append(numbers)
                return batches.count == 1
            }
            if isFirst { for await _ in gate.stream {} }
            if numbers.contains(where: { $0 < 0 }) { throw Problem(fault, "It is negative.") }
            return numbers.map { $0 == 0 ? .failure(Problem(.superseded, "It is zero.")) : .success($0 * 2) }
        }

        /// - Parameter goesOn: whether a worker runs the next batch on the same connection.
        func batcher(capacity: Int = 100, timeout: Duration = .seconds(60), goesOn: Bool = false) -> Batcher<Int, Int> {
            Batcher(
                workers: 1...1,
                largestBatch: 8,
                capacity: capacity,
                timeout: timeout,
                // Numbers of different hundreds go to different batches.
                mayShare: { abs($0) / 100 == abs($1) / 100 },
                perform: { worker in
                    repeat {
                        worker.complete(try await self.perform(worker.requests), after: .zero)
                    } while goesOn && worker.takeNext()
                }
            )
        }
    }

    /// Submits all numbers while the first holds the worker, then releases it.
    private static func submit(
        _ numbers: [Int],
        to batcher: Batcher<Int, Int>,
        _ doubler: Doubler
    ) async -> [Result<Int, Problem>] {
        await withTaskGroup(of: (Int, Result<Int, Problem>).self) { group in
            for (index, number) in numbers.enumerated() {
                group.addTask { (index, await result(of: number, batcher)) }
                // The first number must be running, and each other number queued, before the next is submitted.
                while index == 0 ? doubler.batches.withLock(\.isEmpty) : batcher.waitingCount < index {
                    await Task.yield()
                }
            }
            doubler.open()
            var results: [(Int, Result<Int, Problem>)] = []
            for await result in group { results.append(result) }
            return results.sorted { $0.0 < $1.0 }.map(\.1)
        }
    }

    private static func result(of number: Int, _ batcher: Batcher<Int, Int>) async -> Result<Int, Problem> {
        do throws(Problem) {
            return .success(try await batcher.submit(number))
        } catch { return .failure(error) }
    }

    @Test func `A single request runs alone`() async throws {
        let doubler = Doubler()
        let batcher = doubler.batcher()
        doubler.open()
        for number in 1...3 { #expect(try await batcher.submit(number) == number * 2) }
        #expect(doubler.batches.withLock { $0 } == [[1], [2], [3]])
    }

    private static let stories: [(numbers: [Int], batches: [[Int]], goesOn: Bool)] = [
        // Waiting requests run together.
        ([1, 2, 3, 4], [[1], [2, 3, 4]], false),
        // Batches are bounded.
        (Array(1...20), [[1], Array(2...9), Array(10...17), Array(18...20)], false),
        // Requests that may not run together follow each other.
        ([1, 105, 205, 106, 205, 305], [[1], [105, 106], [205, 205], [305]], false),
        // The fault of a request fails no neighbour.
        ([1, 2, -3, 0, 4], [[1], [2, -3, 0, 4], [2], [-3], [0], [4]], false),
        // The fault of a following batch fails no other.
        ([1, 105, 205, -103, 305], [[1], [105, -103], [105], [-103], [205], [305]], true),
    ]

    @Test(arguments: stories)
    func `Requests share batches, and each has its own result`(numbers: [Int], batches: [[Int]], goesOn: Bool) async {
        let doubler = Doubler()
        let results = await Self.submit(numbers, to: doubler.batcher(goesOn: goesOn), doubler)
        #expect(results.map { try? $0.get() } == numbers.map { $0 > 0 ? $0 * 2 : nil })
        #expect(doubler.batches.withLock { $0 } == batches)
    }

    /// - Parameters:
    ///   - times: the durations of the first batches, with one request each. The others wait during the last one.
    ///   - expected: the sizes of all batches.
    @Test(arguments: [
        // While Postgres is slow, each worker takes its share of the waiting requests.
        (times: [Duration.milliseconds(2)], waiting: 6, expected: [1, 2, 2, 2]),
        ([.milliseconds(1)], 6, [1, 6]),
        ([.milliseconds(2), .zero, .zero], 6, [1, 1, 1, 6]),
        // Another worker takes what a full batch leaves.
        ([.zero], 20, [1, 8, 8, 4]),
    ])
    func `More batches run at the same time while Postgres is slow or requests are left`(
        times: [Duration],
        waiting: Int,
        expected: [Int]
    ) async throws {
        let sizes = Mutex<[Int]>([])
        let isOpen = Mutex(false)
        let batcher = Batcher<Int, Int>(
            workers: 1...3,
            largestBatch: 8,
            capacity: 100,
            timeout: .seconds(60),
            perform: { worker in
                let number = sizes.withLock { sizes in
                    sizes.append(worker.requests.count)
                    return sizes.count
                }
                while number == times.count && !isOpen.withLock(\.self) { await Task.yield() }
                // Waits until all following batches run at the same time.
                while number > times.count && sizes.withLock(\.count) < expected.count { await Task.yield() }
                worker.complete(
                    worker.requests.map { .success($0) },
                    after: number > times.count ? .zero : times[number - 1]
                )
            }
        )
        for number in 1..<times.count { _ = await Self.result(of: number, batcher) }
        await withTaskGroup(of: Void.self) { group in
            group.addTask { _ = await Self.result(of: 0, batcher) }
            while sizes.withLock(\.count) < times.count { await Task.yield() }
            for number in 1...waiting { group.addTask { _ = await Self.result(of: number, batcher) } }
            while batcher.waitingCount < waiting { await Task.yield() }
            isOpen.withLock { $0 = true }
        }
        #expect(sizes.withLock(\.self).sorted() == expected.sorted())
    }

    @Test func `A second worker runs while a crowd waits`() async throws {
        let sizes = Mutex<[Int]>([])
        let isOpen = Mutex(false)
        let batcher = Batcher<Int, Int>(workers: 1...2, largestBatch: 8, crowd: 4, timeout: .seconds(60)) { worker in
            repeat {
                let number = sizes.withLock { sizes in
                    sizes.append(worker.requests.count)
                    return sizes.count
                }
                while number == 1 && !isOpen.withLock(\.self) { await Task.yield() }
                worker.complete(worker.requests.map { .success($0) }, after: .zero)
            } while worker.takeNext()
        }
        await withTaskGroup { group in
            group.addTask { _ = await Self.result(of: 0, batcher) }
            while sizes.withLock(\.isEmpty) { await Task.yield() }
            for number in 1...4 { group.addTask { _ = await Self.result(of: number, batcher) } }
            while sizes.withLock(\.count) < 2 { await Task.yield() }
            // Three are no crowd, so they wait for the first worker.
            for number in 1...3 { group.addTask { _ = await Self.result(of: number, batcher) } }
            while batcher.waitingCount < 3 && sizes.withLock(\.count) < 3 { await Task.yield() }
            isOpen.withLock { $0 = true }
        }
        #expect(sizes.withLock(\.self) == [1, 4, 3])
    }

    @Test func `Requests are not retried one by one while Postgres is unavailable`() async throws {
        let doubler = Doubler(fault: .unavailable)
        let results = await Self.submit([1, 2, -3], to: doubler.batcher(), doubler)
        #expect(throws: Problem.self) { try results[1].get() }
        #expect(doubler.batches.withLock { $0 } == [[1], [2, -3]])
    }

    @Test func `Too many requests are refused immediately`() async throws {
        let doubler = Doubler()
        let batcher = doubler.batcher(capacity: 0)
        async let first = Self.result(of: 1, batcher)
        while doubler.batches.withLock(\.isEmpty) { await Task.yield() }
        #expect(await Self.result(of: 2, batcher) == .failure(.overloaded))
        doubler.open()
        #expect(try await first.get() == 2)
    }

    @Test func `A request that waited too long is refused`() async throws {
        let doubler = Doubler()
        let results = await Self.submit([1, 2, 3], to: doubler.batcher(timeout: .zero), doubler)
        #expect(try results[0].get() == 2)
        #expect(results[1] == .failure(.overloaded) && results[2] == .failure(.overloaded))
        #expect(doubler.batches.withLock { $0 } == [[1]])
    }
}
