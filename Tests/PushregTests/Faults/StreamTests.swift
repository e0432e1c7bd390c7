import AsyncHTTPClient
import Glibc
import NIOCore
import NIOHTTP1
import PostgresDriver
import RegistryStore
import Synchronization
import TestSupport
import Testing

@Suite(.serialized, .timeLimit(.minutes(15))) struct StreamTests {
    private static let count = TestScale.isLong ? 1_000_000 : 50_000

    @Test func `A stream is complete in bounded memory`() async throws {
        let database = try await TestDatabase.make(isAlone: true)
        let scope = try await database.scope()
        let all = BulkActivities(name: "activity", numbers: 1...Int64(Self.count), kind: "matchId", alias: "'m'::text")
        try await all.insert(into: database, scope)
        let service = try await ServiceProcess.start(on: database)
        let before = service.peakMemory
        let start = ContinuousClock.now
        let lines = try await CountedLines.read(service.lines(of: "aliases/matchId/m/activities"))
        let duration = ContinuousClock.now - start
        #expect(lines.count == Self.count + 2)
        #expect(lines.last == #"{"end":true,"count":\#(Self.count)}"#)
        print(
            "figure: stream of \(Self.count): \(duration), peak memory \(before) MiB before, \(service.peakMemory) MiB after"
        )
        #expect(service.peakMemory < before + 64)
        try await stalledReadersCostOnlyTheirConnection(service, database)
        await service.stop()
    }

    private func stalledReadersCostOnlyTheirConnection(_ service: ServiceProcess, _ database: TestDatabase) async throws
    {
        let before = service.peakMemory
        // 32 readers, twice the service's connections to Postgres, read only the first bytes.
        var readers: [RawConnection] = []
        for _ in 0..<32 { readers.append(try await service.stalledReader(of: "aliases/matchId/m/activities")) }
        for _ in 0..<20 {
            #expect(try await service.call("GET", "…/aliases/matchId/m/activities?limit=10").status == 200)
        }
        #expect(try await database.busyConnections() <= 2)
        #expect(service.peakMemory < before + 64)
        print("figure: 32 stalled readers: \(service.peakMemory - before) MiB more")
        withExtendedLifetime(readers) {}
    }
}

@Suite(.serialized, .timeLimit(.minutes(20))) struct StoppedFollowerTests {
    /// The changes, about 70 MiB of lines. All followers share them; separate copies would take two gigabytes.
    private static let count = TestScale.isLong ? 1_000_000 : 300_000

    @Test func `Stopped followers cost little memory, no connection and no delay`() async throws {
        let database = try await TestDatabase.make(isAlone: true)
        let scope = try await database.scope()
        let service = try await ServiceProcess.start(on: database)
        // The cost of an active follower is not part of the measurement.
        try await Self.change(1, Self.count, database, scope, followedAt: service)
        let before = service.peakMemory
        var stopped: [RawConnection] = []
        // The follower that just left may count until its next bookmark.
        for _ in 0..<30 { stopped.append(try await service.stalledReader(of: "changes")) }
        try await Self.change(Self.count + 1, 2 * Self.count, database, scope, followedAt: service)
        #expect(try await database.busyConnections() <= 2)
        #expect(service.peakMemory < before + 64)
        print("figure: 30 stopped followers, \(Self.count) changes: \(service.peakMemory - before) MiB more")
        withExtendedLifetime(stopped) {}
        await service.stop()
    }

    private static func change(
        _ first: Int,
        _ last: Int,
        _ database: TestDatabase,
        _ scope: Scope,
        followedAt service: ServiceProcess
    ) async throws {
        var (lines, hasBegun) = (CountedLines(), false)
        for try await chunk in try await service.lines(of: "changes") {
            lines.add(chunk)
            if !hasBegun {
                hasBegun = true
                try await insert(first, last, database, scope)
            }
            if lines.count > last - first { break }
        }
        #expect(lines.count > last - first)
    }

    private static func insert(_ first: Int, _ last: Int, _ database: TestDatabase, _ scope: Scope) async throws {
        _ = try await database.pool.withSession(.never, timeout: .seconds(300)) { session in
            try session.simple("SET statement_timeout = 0")
            return try session.execute(
                """
                INSERT INTO events (scope_id, drop_on, type, who, activity_id, aliases)
                SELECT \(scope.id), current_date + 9, 'rotated', 'test', 'activity-' || n,
                    jsonb_build_object('liveactivityId', jsonb_build_array('order-' || n))
                FROM generate_series(\(Int64(first))::bigint, \(Int64(last))) AS n
                """
            ).affectedRows
        }
    }
}

@Suite(.serialized, .timeLimit(.minutes(20))) struct FeedbackFloodTests {
    private static let count = TestScale.isLong ? 1_000_000 : 20_000
    private static let path = "\(ServiceProcess.app)/feedback"

    @Test func `Every report is answered in bounded memory`() async throws {
        try await Self.withService { service in
            let before = service.peakMemory
            let start = ContinuousClock.now
            var request = HTTPClientRequest(url: "http://127.0.0.1:\(service.port)\(Self.path)")
            request.method = .POST
            request.headers.add(name: "Content-Type", value: "application/x-ndjson")
            request.body = .stream(Self.reports(), length: .unknown)
            let response = try await HTTPClient.shared.execute(request, timeout: .minutes(15))
            #expect(response.status == .ok)
            let lines = try await CountedLines.read(response.body)
            #expect(lines.count == Self.count + 1)
            #expect(lines.last == #"{"end":true,"count":\#(Self.count)}"#)
            let rate = Double(Self.count) / ((ContinuousClock.now - start) / .seconds(1))
            #expect(service.peakMemory < before + 64)
            print(
                "figure: \(Self.count) reports as NDJSON: \(Int(rate))/s, peak memory \(before) MiB before, "
                    + "\(service.peakMemory) MiB after"
            )
        }
    }

    /// The service accepts no more reports than it can send results for.
    @Test func `A sender that does not read is slowed down`() async throws {
        try await Self.withService { service in
            let before = service.peakMemory
            // With the default buffer, the kernel would take megabytes of the response.
            let sender = try RawConnection(port: service.port, receiveBuffer: 4096, sendTimeout: .seconds(1))
            sender.send(
                "POST \(Self.path) HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\n"
                    + "Transfer-Encoding: chunked\r\n\r\n"
            )
            let lines = Self.lines(0..<1000)
            let chunk = Array((String(lines.utf8.count, radix: 16) + "\r\n" + lines + "\r\n").utf8)
            #expect(await sender.send(chunk, times: 2000) < 64 << 20)
            #expect(service.peakMemory < before + 64)
            #expect(try await service.call("GET", "/livez").status == 200)
        }
    }

    private static func withService(_ test: (ServiceProcess) async throws -> Void) async throws {
        let (database, _) = try await TestDatabase.withScope()
        let service = try await ServiceProcess.start(on: database)
        try await test(service)
        await service.stop()
    }

    /// All reports, a thousand at a time.
    private static func reports() -> AsyncStream<ByteBuffer> {
        let next = Mutex(0)
        return AsyncStream {
            let first = next.withLock { next in
                defer { next += 1000 }
                return next
            }
            return first < count ? ByteBuffer(string: lines(first..<min(first + 1000, count))) : nil
        }
    }

    private static func lines(_ numbers: Range<Int>) -> String {
        numbers.map { number in
            let hex = String(number, radix: 16)
            return #"{"token":"\#(String(repeating: "0", count: 16 - hex.count) + hex)cd","status":410}"# + "\n"
        }.joined()
    }
}

struct CountedLines {
    private(set) var count = 0
    private var tail: [UInt8] = []
    var last: String { String(decoding: tail, as: UTF8.self).split(separator: "\n").last.map(String.init) ?? "" }

    static func read(_ body: HTTPClientResponse.Body) async throws -> CountedLines {
        var lines = CountedLines()
        for try await chunk in body { lines.add(chunk) }
        return lines
    }

    /// Uses memchr, because a loop over bytes would take longer than the service.
    mutating func add(_ chunk: ByteBuffer) {
        chunk.withUnsafeReadableBytes { bytes in
            var rest = bytes[...]
            while let start = UnsafeRawBufferPointer(rebasing: rest).baseAddress,
                let found = memchr(start, 0x0A, rest.count)
            {
                count += 1
                rest = rest.dropFirst(start.distance(to: UnsafeRawPointer(found)) + 1)
            }
        }
        tail = Array((tail + chunk.readableBytesView.suffix(200)).suffix(200))
    }
}
