import Hummingbird
import RegistryCore

/// An answer that is written while it is sent, at any size.
protocol AnswerStream: Sendable {
    /// - Throws: if it cannot be completed or the reader is gone; the connection then ends without the last chunk.
    func write(to writer: inout any ResponseBodyWriter) async throws
}

extension JSONWriter {
    /// The last line of NDJSON, without which it is not complete.
    mutating func writeEnd(count: Int) {
        object { json in
            json.member("end", true)
            json.member("count", count)
        }
        newline()
    }
}
