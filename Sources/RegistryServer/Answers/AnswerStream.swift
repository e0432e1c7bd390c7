import Hummingbird
import RegistryCore

/// An answer that is written while it is sent, so that its size is no matter.
protocol AnswerStream: Sendable {
    /// Writes the whole answer.
    ///
    /// - Throws: when it cannot be made whole or the reader is gone; the connection then ends without the last chunk.
    func write(to writer: inout any ResponseBodyWriter) async throws
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
