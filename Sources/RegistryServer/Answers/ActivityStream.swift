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
    let channels: [BroadcastChannel]
    /// Read before the head is sent, so that Postgres being away is still a 503.
    let firstPage: [ResolvedActivity]

    /// How many activities are read before the head is sent, and of how many rows of the alias at a time after that. When
    /// the first ones are fewer, they are all.
    static let pageSize = 2000
    /// From how many bytes on what was written is sent. A reader must take this much before its deadline.
    private static let chunkSize = 32 * 1024

    func write(to writer: inout any ResponseBodyWriter) async throws {
        var json = JSONWriter(reservingCapacity: Self.chunkSize + 4096)
        writeHead(to: &json)
        var page = firstPage
        var end = page.count < Self.pageSize ? nil : page.last?.number
        var count = 0
        while true {
            // Postgres looks for the next page while this one is written; a reader who stops has at most these two.
            let start = end
            async let next = nextPage(after: start)
            for activity in page {
                json.line(activity)
                if json.bytes.count >= Self.chunkSize { try await Self.send(&json, to: &writer) }
            }
            count += page.count
            // What there is goes out before Postgres is waited for.
            if !json.bytes.isEmpty { try await Self.send(&json, to: &writer) }
            guard let found = try await next else { break }
            (page, end) = found
        }
        json.writeEnd(count: count)
        try await Self.send(&json, to: &writer)
        try await writer.finish(nil)
    }

    /// Nil after the last page.
    private func nextPage(after number: Int64?) async throws -> (activities: [ResolvedActivity], end: Int64?)? {
        guard let number else { return nil }
        return try await registry.activities(under: alias, after: number, ofRows: Self.pageSize, in: scope)
    }

    private func writeHead(to json: inout JSONWriter) {
        json.object { json in
            json.writeAddress(of: alias, in: scope)
            json.member("channels", channels)
        }
        json.newline()
    }

    private static func send(_ json: inout JSONWriter, to writer: inout any ResponseBodyWriter) async throws {
        try await writer.write(ByteBuffer(bytes: json.bytes))
        json.removeAll()
    }
}

extension JSONWriter {
    /// Writes a value and ends the line.
    fileprivate mutating func line(_ value: some JSONEncodable) {
        value.encode(to: &self)
        newline()
    }

    /// Writes the members that say what was asked for and how to push to it: `alias`, `topic`, `pushType`.
    mutating func writeAddress(of alias: Alias, in scope: Scope) {
        member("alias", alias)
        member("topic", TokenKind.update.topic(of: scope.app.bundleID))
        member("pushType", TokenKind.update.pushType)
    }
}
