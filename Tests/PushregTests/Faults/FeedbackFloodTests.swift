import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import Synchronization
import TestSupport
import Testing

@Suite(.serialized, .timeLimit(.minutes(20))) struct FeedbackFloodTests {
    private static let count = TestScale.isLong ? 1_000_000 : 20_000
    private static let path = "\(ServiceProcess.app)/feedback"

    @Test func `Every report is answered in bounded memory`() async throws {
        try await Self.withService { service in
            let before = service.peakMemory
            let clock = ContinuousClock()
            let start = clock.now
            var request = HTTPClientRequest(url: "http://127.0.0.1:\(service.port)\(Self.path)")
            request.method = .POST
            request.headers.add(name: "Content-Type", value: "application/x-ndjson")
            request.body = .stream(Self.reports(), length: .unknown)
            let response = try await HTTPClient.shared.execute(request, timeout: .minutes(15))
            #expect(response.status == .ok)
            let lines = try await CountedLines.read(response.body)
            #expect(lines.count == Self.count + 1)
            #expect(lines.last == #"{"end":true,"count":\#(Self.count)}"#)
            let rate = Double(Self.count) / ((clock.now - start) / .seconds(1))
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
