import Hummingbird
import NIOCore
import RegistryCore
import RegistryStore

/// All activities of an alias as NDJSON, in bounded memory however many there are.
///
/// Between two pages no connection and no snapshot of Postgres is held, so a reader that stops costs only its own
/// connection. When a page cannot be read the stream ends without its last line, and the connection without the chunk
/// that would make the response whole.
struct ActivityStream: AnswerStream {
    let registry: Registry
    let alias: Alias
    let scope: Scope
    /// The page that is read before the head is sent, so that Postgres being away is still a 503.
    let first: AliasPage

    /// How many activities are read before the head is sent.
    static let firstPageSize = 500
    /// How many rows of the alias are looked at together; a reader who stops costs three times their lines.
    private static let rangeSize = 500
    /// How many bytes are sent at a time. A reader must take this much before its deadline.
    private static let chunkSize = 32 * 1024

    func write(to writer: inout any ResponseBodyWriter) async throws {
        var json = JSONWriter(reservingCapacity: Self.chunkSize)
        writeHead(to: &json)
        for activity in first.activities { json.line(activity) }
        try await Self.send(ByteBuffer(bytes: json.bytes), to: &writer)
        json = JSONWriter()
        var count = first.activities.count
        if let last = first.next {
            try await registry.forEachRange(
                of: alias,
                after: last,
                in: scope,
                rangeSize: Self.rangeSize,
                prepare: Lines.init
            ) { lines in
                count += lines.count
                try await Self.send(lines.bytes, to: &writer)
            }
        }
        json.writeEnd(count: count)
        try await Self.send(ByteBuffer(bytes: json.bytes), to: &writer)
        try await writer.finish(nil)
    }

    private func writeHead(to json: inout JSONWriter) {
        json.object { json in
            json.writeAddress(of: alias, in: scope)
            json.member("channels", first.channels)
        }
        json.newline()
    }

    private static func send(_ bytes: ByteBuffer, to writer: inout any ResponseBodyWriter) async throws {
        var rest = bytes
        while let chunk = rest.readSlice(length: min(chunkSize, rest.readableBytes)), chunk.readableBytes > 0 {
            try await writer.write(chunk)
        }
    }

    /// Activities as they are sent, a line each.
    private struct Lines: Sendable {
        let count: Int
        let bytes: ByteBuffer

        init(_ activities: [ResolvedActivity]) {
            // A line without aliases has some 300 bytes.
            var json = JSONWriter(reservingCapacity: activities.count * 384)
            for activity in activities { json.line(activity) }
            (count, bytes) = (activities.count, ByteBuffer(bytes: json.bytes))
        }
    }
}

extension JSONWriter {
    /// Writes a value and ends the line.
    fileprivate mutating func line(_ value: some JSONEncodable) {
        value.encode(to: &self)
        newline()
    }

    /// Writes the members that say what was asked for and how to push to it: `alias`, `topic`, `pushType`.
    mutating func writeAddress(of alias: Alias, for kind: TokenKind = .update, in scope: Scope) {
        member("alias", alias)
        member("topic", kind.topic(of: scope.app.bundleID))
        member("pushType", kind.pushType)
    }
}
