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
        let largeAlias = LargeAlias(
            registry: self,
            alias: alias,
            scope: scope,
            rangeSize: rangeSize,
            includesMetadata: includesMetadata
        )
        let firstEnds = try await largeAlias.ends(after: key)
        try await withThrowingTaskGroup(of: FoundRange<Range>.self) { group in
            var ends = [0: firstEnds.first, 1: firstEnds.second]
            var found: [Int: Range] = [:]
            var (begun, received) = (0, 0)
            while true {
                let start = begun == 0 ? key : ends[begun - 1]
                if begun - received < LargeAlias.rangesAtOnce, let start, start < .max, let end = ends[begun] {
                    group.addTask { [begun] in try await largeAlias.range(begun, after: start, through: end, prepare) }
                    begun += 1
                } else if let range = found.removeValue(forKey: received) {
                    try await receive(range)
                    if ends[received] == .max { return }
                    received += 1
                } else if let range = try await group.next() {
                    found[range.index] = range.content
                    ends[range.index + 2] = range.endOfTheOneAfterNext
                }
            }
        }
    }
}

private struct FoundRange<Content: Sendable>: Sendable {
    let index: Int
    let content: Content
    /// Each range also finds a later range's end, which saves a separate wait.
    let endOfTheOneAfterNext: Int64
}

private struct LargeAlias: Sendable {
    let registry: Registry
    let alias: Alias
    let scope: Scope
    let rangeSize: Int
    let includesMetadata: Bool

    /// One range is received while two connections read ahead.
    static let rangesAtOnce = 3
    /// Up to this number of keys per row, a range reads all activities in order, including activities of other aliases.
    /// In sparser ranges, each activity of the alias is looked up. Reading an extra activity costs about a quarter of a
    /// lookup.
    private static let sparseness: Int64 = 4

    func ends(after key: Int64) async throws -> (first: Int64, second: Int64) {
        let bounds = [1, 2].map { end(ofRange: $0, after: key) }
        let ends = try await registry.read { try $0.pipeline(bounds).map(Self.end) }
        return (ends[0], ends[1])
    }

    func range<Content>(
        _ index: Int,
        after start: Int64,
        through end: Int64,
        _ prepare: @escaping @Sendable ([ResolvedActivity], FoundMetadata?) -> Content
    ) async throws -> FoundRange<Content> {
        let isDense = end - start <= Int64(rangeSize) * Self.sparseness
        let read: Query = isDense ? "resolve.read-dense-range" : "resolve.read-range"
        let range = read(alias.values(in: scope) + ["after": start, "last": end])
        let bound = end == .max ? [] : [self.end(ofRange: 2, after: end)]
        return try await registry.read { session in
            let results = try session.pipeline([range] + bound)
            let activities = try results[0].decode(ResolvedActivity.self)
            let later = try bound.isEmpty ? .max : Self.end(results[1])
            let metadata =
                includesMetadata
                ? try FoundMetadata(of: activities.map(\.key), activities.map(\.installation), in: scope, session) : nil
            return FoundRange(index: index, content: prepare(activities, metadata), endOfTheOneAfterNext: later)
        }
    }

    private func end(ofRange position: Int, after key: Int64) -> SQL {
        Query("resolve.find-key")(alias.values(in: scope) + ["after": key, "skipped": position * rangeSize - 1])
    }

    private static func end(_ result: PostgresResult) throws -> Int64 {
        try result.rows.first?.decode(Int64.self) ?? .max
    }
}

extension Alias {
    func values(in scope: Scope) -> QueryValues { ["scope": scope.id, "kind": kind, "value": value] }
}
