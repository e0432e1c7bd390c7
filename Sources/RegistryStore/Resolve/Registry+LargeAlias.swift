import PostgresDriver
import RegistryCore

extension Registry {
    /// All further activities of an alias that names very many, found in ranges of their numbers by two connections at once.
    ///
    /// While `receive` has one range, the next two are looked for; then no connection is held until it returns.
    ///
    /// - Parameters:
    ///   - number: the number of the last activity that is known already.
    ///   - rangeSize: how many of the alias's rows are in a range; those that are not handed out are among them.
    ///   - prepare: makes of a range's activities what is received; it runs on the connection's thread.
    ///   - receive: is given the ranges in the order of their numbers; empty ones, too.
    package func forEachRange<Range: Sendable>(
        of alias: Alias,
        after number: Int64,
        in scope: Scope,
        rangeSize: Int,
        prepare: @escaping @Sendable ([ResolvedActivity]) -> Range,
        receive: (Range) async throws -> Void
    ) async throws {
        let largeAlias = LargeAlias(registry: self, alias: alias, scope: scope, rangeSize: rangeSize)
        let firstEnds = try await largeAlias.ends(after: number)
        try await withThrowingTaskGroup(of: FoundRange<Range>.self) { group in
            var ends = [0: firstEnds.first, 1: firstEnds.second]
            var found: [Int: Range] = [:]
            var (begun, received) = (0, 0)
            while true {
                let start = begun == 0 ? number : ends[begun - 1]
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
    /// Each range tells where a later one ends, so that nobody waits for that alone.
    let endOfTheOneAfterNext: Int64
}

/// The activities of an alias that names very many.
private struct LargeAlias: Sendable {
    let registry: Registry
    let alias: Alias
    let scope: Scope
    let rangeSize: Int

    /// One is received while two connections look for the next. For a reader who stops, they are the cost.
    static let rangesAtOnce = 3
    /// Up to how many numbers a row all of a range's activities are read in their order, no matter whose they are;
    /// where they lie further apart, each is looked up. Reading one more costs about a quarter of looking one up.
    private static let sparseness: Int64 = 4

    /// Where the first and the second range after a number end: `Int64.max` stands for the last.
    func ends(after number: Int64) async throws -> (first: Int64, second: Int64) {
        let bounds = [1, 2].map { end(ofRange: $0, after: number) }
        let ends = try await registry.read { try $0.pipeline(bounds).map(Self.end) }
        return (ends[0], ends[1])
    }

    /// The activities of a range, and where the one after the next ends.
    func range<Content>(
        _ index: Int,
        after start: Int64,
        through end: Int64,
        _ prepare: @escaping @Sendable ([ResolvedActivity]) -> Content
    ) async throws -> FoundRange<Content> {
        let isDense = end - start <= Int64(rangeSize) * Self.sparseness
        let range =
            isDense
            ? ResolveStatements.denseRange(of: alias, after: start, through: end, in: scope)
            : ResolveStatements.range(of: alias, after: start, through: end, in: scope)
        let bound = end == .max ? [] : [self.end(ofRange: 2, after: end)]
        return try await registry.read { session in
            let results = try session.pipeline([range] + bound)
            let activities = try results[0].decode(ResolvedActivity.columns)
            let later = try bound.isEmpty ? .max : Self.end(results[1])
            return FoundRange(index: index, content: prepare(activities), endOfTheOneAfterNext: later)
        }
    }

    private func end(ofRange position: Int, after number: Int64) -> SQL {
        ResolveStatements.number(of: alias, after: number, count: position * rangeSize, in: scope)
    }

    private static func end(_ result: PostgresResult) throws -> Int64 {
        try result.rows.first?.decode(Int64.self) ?? .max
    }
}
