import Synchronization
import Testing

@testable import RegistryServer

@Suite struct LookupCacheTests {
    /// Lookups that wait for the test's result.
    private final class Source: Sendable {
        struct Missing: Error {}
        private let waiting = Mutex<[CheckedContinuation<Int?, any Error>]>([])
        private let (begun, begin) = AsyncStream.makeStream(of: Int?.self)

        var cache: LookupCache<String, Int> {
            LookupCache { _, previous in
                try await withCheckedThrowingContinuation { continuation in
                    self.waiting.withLock { $0.append(continuation) }
                    self.begin.yield(previous)
                }
            }
        }

        /// - Returns: the value of the next lookup.
        func next() async -> Int? { await begun.first { _ in true } ?? nil }
        func answer(_ value: Int?) { waiting.withLock { $0.removeFirst() }.resume(returning: value) }
        func fail() { waiting.withLock { $0.removeFirst() }.resume(throwing: Missing()) }
    }

    @Test func `Concurrent callers share one lookup, and its result is cached`() async throws {
        let source = Source()
        let cache = source.cache
        let (first, second) = (cache.look(for: "a", at: .seconds(1)), cache.look(for: "a", at: .seconds(2)))
        let other = cache.look(for: "b", at: .seconds(2))
        #expect(!first.isShared && second.isShared && !other.isShared && cache.latest("a") == nil)
        for _ in 0..<2 { _ = await source.next() }
        for _ in 0..<2 { source.answer(7) }
        for look in [first, second] {
            let entry = try await look.task.value
            #expect(entry.value == 7)
            #expect(entry.readAt == .seconds(1))
        }
        #expect(try await other.task.value.readAt == .seconds(2) && cache.latest("a")?.value == 7)
    }

    @Test func `A lookup that began before a change is not cached`() async throws {
        let source = Source()
        let cache = source.cache
        let old = cache.look(for: "a", at: .seconds(1))
        _ = await source.next()
        cache.forget("a")
        let new = cache.look(for: "a", at: .seconds(2))
        _ = await source.next()
        source.answer(1)
        #expect(try await old.task.value.value == 1)
        #expect(cache.latest("a") == nil)
        source.answer(2)
        #expect(try await new.task.value.value == 2 && !new.isShared)
        #expect(cache.latest("a")?.value == 2)
        #expect(cache.latest("a")?.readAt == .seconds(2))
    }

    @Test func `An unknown name is cached until it is known`() async throws {
        let source = Source()
        let cache = source.cache
        for (answer, time) in [(nil, 1), (5, 2), (nil, 3)] as [(Int?, Int)] {
            let looked = cache.look(for: "a", at: .seconds(time))
            #expect(await source.next() == (time == 3 ? 5 : nil))
            source.answer(answer)
            #expect(try await looked.task.value.value == answer)
            let latest = try #require(cache.latest("a"))
            #expect(latest.value == answer)
            #expect(latest.readAt == .seconds(time))
        }
    }

    @Test func `A failed lookup is not cached`() async throws {
        let source = Source()
        let cache = source.cache
        let failed = cache.look(for: "a", at: .seconds(1))
        _ = await source.next()
        source.fail()
        await #expect(throws: Source.Missing.self) { _ = try await failed.task.value }
        #expect(cache.latest("a") == nil && !cache.look(for: "a", at: .seconds(2)).isShared)
        _ = await source.next()
        source.answer(nil)
    }
}
