import PostgresDriver
import RegistryCore

extension Registry {
    /// The counts of this minute, computed and stored if missing. If several instances count at once, all return the
    /// counts stored first.
    @discardableResult
    package func counts(in scope: Scope) async throws -> Counts {
        try await write { session in
            let latest: QueryValues = ["scope": scope.id]
            let current = try session.run("counts.read-latest", latest).decode { row in
                try row["is_current"] ? Counts(row: row) : nil
            }
            if let counts = current.first.flatMap(\.self) { return counts }
            var count = Count(scope: scope)
            try count.addActivities(session)
            try count.addTokens(session)
            let counts: QueryValues = [
                "scope": scope.id, "is_estimated": count.isEstimated, "ages": Counts.json(count.ages),
            ]
            _ = try session.pipeline([Query("counts.insert")(counts), Query("counts.thin-out")(latest)])
            // Another instance's counts if it was first.
            return try session.run("counts.read-latest", latest).decode(Counts.self)[0]
        }
    }
}

private struct Count {
    /// Approximate limit of rows read per table. A row costs two lookups, about 16 microseconds, so a table takes at
    /// most half a second. Counts are off by a few percent.
    private static let sampleSize = 30_000

    let scope: Scope
    var ages: [Counts.Group: [Int]] = [:]
    var isEstimated = false

    private typealias Key = (kind: String, state: String, age: Int)

    mutating func addActivities(_ session: borrowing PostgresSession) throws {
        try count("counts.count-activities", in: "activities", session) { row in
            let activity: Key = ("activity", try row["state"], try row["age"])
            guard let state: String = try row["token_state"] else { return [activity] }
            return [activity, (TokenKind.update.name, state, try row["token_age"])]
        }
    }

    mutating func addTokens(_ session: borrowing PostgresSession) throws {
        try count("counts.count-tokens", in: "installation_tokens", session) { row in
            [(try row["kind"], try row["state"], try row["age"])]
        }
    }

    /// - Parameter keys: the groups that a row of the query counts.
    private mutating func count(
        _ query: Query,
        in table: String,
        _ session: borrowing PostgresSession,
        _ keys: (NamedRow) throws -> [Key]
    ) throws {
        let sample = try TableSample(table, size: Self.sampleSize, of: scope, session)
        let values: QueryValues = ["scope": scope.id, "ages": RegistryStatistics.ageLimits]
        let counted = try sample.count(query, values, session, keys)
        isEstimated = isEstimated || counted.isEstimated
        for (keys, count) in counted.groups {
            for key in keys {
                guard let group = Counts.Group(kind: key.kind, state: key.state) else {
                    throw UnreadableRow(detail: "an unknown kind or state")
                }
                ages[group, default: RegistryStatistics.emptyAges.map { _ in 0 }][key.age] += count
            }
        }
    }
}
