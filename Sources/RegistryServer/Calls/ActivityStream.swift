import NIOCore
import RegistryCore
import RegistryStore

/// All activities of an alias as NDJSON, in bounded memory.
///
/// Holds no connection to Postgres and no snapshot between pages, so a stalled reader costs only its own connection.
/// After an error, the last line and the final chunk are missing.
struct ActivityStream: ResponseStream {
    let registry: Registry
    let alias: Alias
    let scope: Scope
    /// Read before the head is sent, so that a failure of Postgres is a 503.
    let first: AliasPage
    var includesMetadata = false
    static let firstPageSize = 500
    /// Rows per read. A stalled reader keeps up to three times as many lines in memory.
    private static let rangeSize = 500

    func write(to writer: Exchange) async throws {
        var json = JSONWriter(reservingCapacity: 32 * 1024)
        json.object { json in
            json.writeAddress(of: alias, in: scope)
            json.member("channels", first.channels)
        }
        json.newline()
        for activity in first.activities { json.line(activity) }
        try await writer.write(ByteBuffer(bytes: json.bytes))
        json = JSONWriter()
        var count = first.activities.count
        if let last = first.next {
            try await registry.forEachRange(
                of: alias,
                after: last,
                in: scope,
                rangeSize: Self.rangeSize,
                prepare: { Lines(includesMetadata ? [] : $0, undescribed: includesMetadata ? $0 : []) }
            ) { found in
                let isWritten = found.undescribed.isEmpty
                let lines = isWritten ? found : Lines(try await registry.describe(found.undescribed, in: scope))
                count += lines.count
                try await writer.write(lines.bytes)
            }
        }
        json.writeEnd(count: count)
        try await writer.write(ByteBuffer(bytes: json.bytes))
    }

    private struct Lines: Sendable {
        let count: Int
        let bytes: ByteBuffer
        /// Activities to write with their metadata.
        let undescribed: [ResolvedActivity]

        init(_ activities: [ResolvedActivity], undescribed: [ResolvedActivity] = []) {
            self.undescribed = undescribed
            // A line without aliases has some 300 bytes.
            var json = JSONWriter(reservingCapacity: activities.count * 384)
            for activity in activities { json.line(activity) }
            (count, bytes) = (activities.count, ByteBuffer(bytes: json.bytes))
        }
    }
}

extension JSONWriter {
    fileprivate mutating func line(_ value: some JSONEncodable) {
        value.encode(to: &self)
        newline()
    }

    mutating func writeAddress(of alias: Alias, for kind: TokenKind = .update, in scope: Scope) {
        member("alias", alias)
        member("topic", kind.topic(of: scope.app.bundleID))
        member("pushType", kind.pushType)
    }
}
