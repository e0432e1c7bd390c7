import AsyncHTTPClient
import CoreFoundation  // Some builds get timespec from it.
import Foundation
import Glibc
import HTTPTypes
import NIOCore
import NIOHTTP1
import RegistryCore
import RegistryStore
import TestSupport
import Testing

@testable import RegistryServer

/// The work before authentication does not grow with the request.
@Suite(.timeLimit(.minutes(15))) struct RequestCostTests {
    private static let hostile = [
        ("parameters", "/livez?" + String(repeating: "a&", count: 4090)),
        ("empty parameters", "/livez?" + String(repeating: "&", count: 8180)),
        ("pairs", "/livez?" + String(repeating: "a=%41&", count: 1360)),
        ("escapes", "/livez?a=" + String(repeating: "%41", count: 2720)),
        ("parts", String(repeating: "/a", count: 4090)),
    ]

    private static func time(_ work: () -> Void) -> Duration {
        var (before, after) = (timespec(), timespec())
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &before)
        for _ in 0..<20 { work() }
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &after)
        let nanoseconds = (after.tv_sec - before.tv_sec) * 1_000_000_000 + after.tv_nsec - before.tv_nsec
        return .nanoseconds(nanoseconds / 20)
    }

    /// The bound is far above the times of a debug build.
    @Test func `Hostile paths and fields cost little`() {
        for (name, path) in Self.hostile {
            let time = Self.time { _ = try? RequestTarget(path) }
            print("figure: a path of 8 KiB of \(name): \(time) of the processor")
            #expect(time < .milliseconds(20), "\(name)")
        }
        for (name, part) in [("types", "a/b,"), ("parameters", ";a=b"), ("quotation marks", "\"\\")] {
            let value = "application/json" + String(repeating: part, count: 8000)
            for count in [1024, 32_000] {
                let fields: HTTPFields = [.accept: String(value.prefix(count))]
                let time = Self.time { _ = AcceptField.prefersLines(fields) }
                print("figure: an Accept of \(count) bytes of \(name): \(time) of the processor")
                #expect(time < .milliseconds(5), "\(name)")
            }
        }
    }

    /// NIO replaces both with U+FFFD, which would make them one installation; two fields would give an id with a comma.
    @Test(
        .service,
        arguments: [
            ("X-Installation-Id: \u{FFFD}", [0xEF, 0xBF, 0xBD], [0xFF, 0xFE]),
            ("X-Installation-Id: \u{FFFD}", [0xEF, 0xBF, 0xBD], [0xC3, 0x28]),
            ("X-Installation-Id: a\r\nX-Installation-Id: a", [], []),
            ("X-Installation-Id: a\r\nx-installation-id: b", [], []),
        ] as [(String, [UInt8], [UInt8])]
    )
    func `A request names one installation, in UTF-8`(_ field: String, _ mark: [UInt8], _ bytes: [UInt8]) async throws {
        let body = #"{"token":"aa01"}"#
        var request = Array("PUT \(PipeliningTests.path)/activities/a-1 HTTP/1.1\r\nHost: localhost\r\n".utf8)
        request += Array("\(field)\r\nContent-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n".utf8)
        if !mark.isEmpty, let range = request.firstRange(of: mark) { request.replaceSubrange(range, with: bytes) }
        let connection = try RawConnection(port: server.port)
        connection.send(request + Array("Connection: close\r\n\r\n\(body)".utf8))
        let answer = await connection.read()
        #expect(answer.hasPrefix("HTTP/1.1 422 ") && answer.contains("/X-Installation-Id"), "\(answer)")
        #expect(answer.contains(bytes.isEmpty ? "must be given only once" : "must be UTF-8"))
    }
}

/// Response times reveal nothing about other apps to a key. `RightsMatrixTests` compares the bytes.
@Suite(.secureService, .serialized, .timeLimit(.minutes(15))) struct SilenceTests {
    private static let rounds = TestScale.isLong ? 3000 : 400

    /// The medians of alternating calls, so that other work slows all of them equally.
    private static func medians(_ server: LiveServer, _ requests: [HTTPClientRequest]) async throws -> [Duration] {
        var times = [[Duration]](repeating: [], count: requests.count)
        let clock = ContinuousClock()
        for round in 0..<(rounds + 20) {
            for step in requests.indices {
                // Each position occurs equally often.
                let index = (step + round) % requests.count
                let start = clock.now
                let response = try await HTTPClient.shared.execute(requests[index], timeout: .seconds(30))
                _ = try await response.body.collect(upTo: 1 << 16)
                #expect(response.status == .notFound)
                if round >= 20 { times[index].append(clock.now - start) }
            }
        }
        return times.map { $0.sorted()[$0.count / 2] }
    }

    @Test(arguments: [Role.client, .sender, .admin])
    func `A call to another app takes as long as a call to a missing app`(role: Role) async throws {
        _ = try await server.registry.put(AppChanges(), for: BundleID("com.example.cook"), by: "test")
        let key = try await server.key(role).text.revealed
        let method: HTTPRequest.Method = role == .client ? .delete : .get
        let requests = ["cook", "none", "food"].map { name in
            var request = HTTPClientRequest(
                url: "http://127.0.0.1:\(server.port)/v1/apps/com.example.\(name)/sandbox/activities/a"
            )
            request.method = .RAW(value: method.rawValue)
            request.headers.add(name: "Authorization", value: "Bearer \(key)")
            return request
        }
        let asked = role == .client ? Array(requests.prefix(2)) : requests
        var (isSilent, isSeen) = (false, role == .client)
        // Other work on the machine can disturb a measurement, so one good measurement of three is enough.
        for _ in 0..<3 where !(isSilent && isSeen) {
            let times = try await Self.medians(server, asked)
            let ratio = times[0] / times[1]
            print("figure: \(role): another app \(times[0]), none \(times[1]), of \(Self.rounds), ratio \(ratio)")
            isSilent = isSilent || (0.8...1.25).contains(ratio)
            // The control: a call that reads from Postgres must be measurably slower.
            isSeen = isSeen || times[2] - times[1] > .microseconds(100)
        }
        #expect(isSilent)
        #expect(isSeen)
    }
}

@Suite(.serialized, .timeLimit(.minutes(15))) struct MemoryReturnTests {
    private static let (count, size) = (50_000, 1000)

    private static func allocate(_ count: Int = count) -> [UnsafeMutableRawPointer] {
        (0..<count).map { _ in
            let piece = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 16)
            piece.initializeMemory(as: UInt8.self, repeating: 1, count: size)
            return piece
        }
    }

    @Test func `Memory freed below used memory returns to the system`() {
        var pieces = Self.allocate()
        let last = pieces.removeLast()
        defer { last.deallocate() }
        for piece in pieces { piece.deallocate() }
        let before = MemoryReturn.residentBytes
        MemoryReturn.trim()
        #expect(before - MemoryReturn.residentBytes > Self.count * Self.size / 2)
    }

    @Test func `The free end of a thread's heap returns to the system`() async {
        // In a process of its own, because another thread of this one can share the heap.
        await #expect(processExitsWith: .success) {
            // Raises the usual threshold to twice this size.
            UnsafeMutableRawPointer.allocate(byteCount: 31 << 20, alignment: 16).deallocate()
            MemoryReturn.limitFreeEnds()
            let kept = await withCheckedContinuation { continuation in
                Thread.detachNewThread {
                    let before = MemoryReturn.residentBytes
                    // Swift's metadata, which the first loop allocates, stays below the second one's memory.
                    for count in [1, MemoryReturnTests.count] {
                        for piece in MemoryReturnTests.allocate(count) { piece.deallocate() }
                    }
                    continuation.resume(returning: MemoryReturn.residentBytes - before)
                }
            }
            #expect(kept < MemoryReturnTests.count * MemoryReturnTests.size / 2)
        }
    }
}
