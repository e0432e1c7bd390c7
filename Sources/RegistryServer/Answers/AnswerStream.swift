import Hummingbird
import RegistryCore

/// An answer that is written while it is sent, so that its size is no matter.
protocol AnswerStream: Sendable {
    /// Writes the whole answer.
    ///
    /// - Throws: when it cannot be made whole or the reader is gone; the connection then ends without the last chunk.
    func write(to writer: inout any ResponseBodyWriter) async throws
}

/// A stream that is the answer to a heavy call, which is under way until it has been written.
struct HeavyStream: AnswerStream {
    let stream: any AnswerStream
    let heavyCall: HeavyCall

    func write(to writer: inout any ResponseBodyWriter) async throws {
        defer { withExtendedLifetime(heavyCall) {} }
        try await stream.write(to: &writer)
    }
}

extension JSONWriter {
    /// Writes the last line of NDJSON, without which it is not complete.
    mutating func writeEnd(count: Int) {
        object { json in
            json.member("end", true)
            json.member("count", count)
        }
        newline()
    }
}
