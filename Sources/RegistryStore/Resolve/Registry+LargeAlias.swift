import PostgresDriver
import RegistryCore

extension Registry {
    /// Reads the further activities of a very large alias, in ranges of keys on two connections.
    ///
    /// While `receive` handles a range, the next two are read; then no connection is held until it returns.
    ///
    /// - Parameters:
    ///   - key: the last known activity's key.
    ///   - rangeSize: the alias's rows per range, including withheld ones.
    ///   - prepare: converts a range's activities, with their metadata if requested, on the connection's thread.
    ///   - receive: called for each range, including empty ones, in the order of keys.
    package func forEachRange<Range: Sendable>(
        of alias: Alias,
        after key: Int64,
        in scope: Scope,
        rangeSize: Int,
        includesMetadata: Bool = false,
        prepare: @escaping @Sendable ([ResolvedActivity], FoundMetadata?) -> Range,
        receive: (Range) async throws -> Void
    ) async throws {
        let ranges = AliasRanges(alias: alias, scope: scope, size: rangeSize, includesMetadata: includesMetadata)
        let firstEnds = try await read { session in
            try session.pipeline([1, 2].map { ranges.findEnd($0, after: key) }).map(AliasRanges.end)
        }
        // Each range also finds the end of the one after the next, which saves a separate wait.
        typealias FoundRange = (index: Int, content: Range, laterEnd: Int64)
        try await withThrowingTaskGroup(of: FoundRange.self) { group in
            var ends = [-1: key, 0: firstEnds[0], 1: firstEnds[1]]
            var found: [Int: Range] = [:]
            var (begun, received) = (0, 0)
            while true {
                if begun - received < AliasRanges.rangesAtOnce, let start = ends[begun - 1], start < .max,
                    let end = ends[begun]
                {
                    group.addTask { [begun] in
                        try await self.read { session in
                            let (activities, metadata, later) = try ranges.read(after: start, through: end, session)
                            return (begun, prepare(activities, metadata), later)
                        }
                    }
                    begun += 1
                } else if let range = found.removeValue(forKey: received) {
                    try await receive(range)
                    if ends[received] == .max { return }
                    received += 1
                } else if let range = try await group.next() {
                    found[range.index] = range.content
                    ends[range.index + 2] = range.laterEnd
                }
            }
        }
    }
}

private struct AliasRanges: Sendable {
    let alias: Alias
    let scope: Scope
    let size: Int
    let includesMetadata: Bool

    /// One range is received while two connections read ahead.
    static let rangesAtOnce = 3
    /// Up to this number of keys per row, a range reads all activities in order, including activities of other aliases.
    /// In sparser ranges, each activity of the alias is looked up. Reading an extra activity costs about a quarter of a
    /// lookup.
    private static let sparseness: Int64 = 4

    func read(
        after start: Int64,
        through end: Int64,
        _ session: borrowing PostgresSession
    ) throws -> (activities: [ResolvedActivity], FoundMetadata?, laterEnd: Int64) {
        let isDense = end - start <= Int64(size) * Self.sparseness
        let read: Query = isDense ? "resolve.read-dense-range" : "resolve.read-range"
        let range = read(alias.values(in: scope) + ["after": start, "last": end])
        let results = try session.pipeline([range] + (end == .max ? [] : [findEnd(2, after: end)]))
        let activities = try results[0].decode(ResolvedActivity.self)
        let metadata =
            includesMetadata
            ? try FoundMetadata(of: activities.map(\.key), activities.map(\.installation), in: scope, session) : nil
        return (activities, metadata, try results.dropFirst().first.map(Self.end) ?? .max)
    }

    func findEnd(_ position: Int, after key: Int64) -> SQL {
        Query("resolve.find-key")(alias.values(in: scope) + ["after": key, "skipped": position * size - 1])
    }

    /// The greatest key if no activity follows.
    static func end(_ result: PostgresResult) throws -> Int64 { try result.rows.first?.decode(Int64.self) ?? .max }
}

extension Alias { func values(in scope: Scope) -> QueryValues { ["scope": scope.id, "kind": kind, "value": value] } }
