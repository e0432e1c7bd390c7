import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
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
            request.body = .stream(Reports(count: Self.count), length: .unknown)
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
            let sender = try SilentSender(port: service.port, path: Self.path)
            let taken = sender.sendUntilHeldBack(Reports.lines(0..<1000), limit: 2000)
            #expect(taken < 64 << 20)
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
}

private struct Reports: AsyncSequence, Sendable {
    let count: Int

    struct AsyncIterator: AsyncIteratorProtocol {
        let count: Int
        var next = 0

        mutating func next() async -> ByteBuffer? {
            guard next < count else { return nil }
            let first = next
            next = Swift.min(next + 1000, count)
            return ByteBuffer(string: Reports.lines(first..<next))
        }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(count: count) }

    static func lines(_ numbers: Range<Int>) -> String {
        numbers.map { number in
            let hex = String(number, radix: 16)
            return #"{"token":"\#(String(repeating: "0", count: 16 - hex.count) + hex)cd","status":410}"# + "\n"
        }.joined()
    }
}

private final class SilentSender {
    private let descriptor: Int32

    init(port: Int, path: String) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        // With the default buffer, the kernel would take megabytes of the response.
        var room: Int32 = 4096
        setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &room, socklen_t(MemoryLayout<Int32>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        let size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let status = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(descriptor, $0, size) }
        }
        guard status == 0 else { throw POSIXError(.ECONNREFUSED) }
        var patience = timeval(tv_sec: 1, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
        _ = send(
            "POST \(path) HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\n"
                + "Transfer-Encoding: chunked\r\n\r\n"
        )
    }

    deinit { close(descriptor) }

    /// - Returns: the number of bytes sent.
    func sendUntilHeldBack(_ lines: String, limit: Int) -> Int {
        let chunk = String(lines.utf8.count, radix: 16) + "\r\n" + lines + "\r\n"
        var taken = 0
        for _ in 0..<limit {
            guard send(chunk) else { return taken }
            taken += chunk.utf8.count
        }
        return .max
    }

    private func send(_ text: String) -> Bool {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }
}
