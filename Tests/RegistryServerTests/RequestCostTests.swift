import CoreFoundation  // Some builds get timespec from it.
import Foundation
import Glibc
import HTTPTypes
import RegistryCore
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
