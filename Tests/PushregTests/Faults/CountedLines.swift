import AsyncHTTPClient
import Glibc
import NIOCore

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
