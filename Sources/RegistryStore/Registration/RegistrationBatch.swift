import Foundation
import PostgresDriver
import RegistryCore

/// Registrations of one app and environment, each a row of the statements.
///
/// ``RegistrationSelection`` decides which requests may share a batch.
struct RegistrationBatch {
    /// The texts of the statements depend on these properties.
    struct Shape: Hashable {
        /// The requests are clients', each for its own subject and installation: records of others stay untouched.
        var isGuarded = false
        /// Some request has no `observedAt`: its order is that of receipt, so its row is locked before it is read.
        var needsReceiptOrder = false
        var hasAliases = false
        var hasStarts = false

        static let all = (0..<16).map {
            Shape(
                isGuarded: $0 & 1 != 0,
                needsReceiptOrder: $0 & 2 != 0,
                hasAliases: $0 & 4 != 0,
                hasStarts: $0 & 8 != 0
            )
        }
    }

    let shape: Shape
    /// The columns of the requests in the order of ``columns``, and the number of the batch.
    let values: [PostgresParameter]

    init(_ requests: [RegistrationRequest]) {
        var shape = Shape(isGuarded: requests.contains(where: \.isGuarded))
        for registration in requests.lazy.map(\.registration) {
            shape.needsReceiptOrder = shape.needsReceiptOrder || registration.observedAt == nil
            shape.hasAliases = shape.hasAliases || registration.givenAliases != nil
            shape.hasStarts = shape.hasStarts || registration.startsAt != nil
        }
        self.shape = shape
        values =
            Self.columns.map { $0.bind(requests) } + [PostgresParameter(Int64.random(in: .min ... .max))]
    }

    /// A batch for templates: all of its values are distinct from all others in a statement.
    init(sampleOf shape: Shape) {
        self.shape = shape
        values =
            Self.columns.enumerated().map { .sample($0, $1.type) } + [.sample(Self.columns.count, Int64.postgresType)]
    }

    private static let columns: [BoundColumn<RegistrationRequest>] =
        [
            .init("activity_id", \.id),
            .init("token", \.registration.token),
            .init("token_digest") { $0.registration.token.map { Array($0.digest) } },
            .init("observed_at", \.registration.observedAt),
            .init("who", \.who),
            .init("started_at", \.registration.startedAt),
            .init("installation_hash", \.registration.installation),
            .init("subject", \.registration.subject),
            .init("aliases") { $0.registration.givenAliases.map { JSONB($0.canonicalJSON) } },
            // Default aliases count as given before all others, so they never replace any.
            .init("aliases_given_at") { $0.registration.aliases == nil ? .distantPast : Date?.none },
            .init("metadata") { $0.registration.metadata.map { JSONB($0.canonicalJSON) } },
            .init("starts_at", \.registration.startsAt),
            .init("was_accepted", \.registration.wasAccepted),
        ] + StoredFact.all.map { $0.bound.of(\.registration.facts) }

    static let valueNames = columns.map(\.name) + ["batch_number"]

    // MARK: As SQL

    /// Marks the rows into which this batch merged a request. Random, so that no other batch has it.
    var number: SQL { "\(value: values[Self.columns.count])" }

    var activityIDs: SQL { column("activity_id") }

    private func column(_ name: String) -> SQL {
        "\(value: values[Self.columns.firstIndex { $0.name == name }!])"
    }

    /// The requests as rows `q` of some columns.
    func rows(_ names: [String]) -> SQL { SQL.unnest(names.map { ($0, column($0)) }, as: "q") }

    var rows: SQL {
        let starts = ["starts_at", "was_accepted"]
        return rows(Self.columns.map(\.name).filter { $0 != "who" && (shape.hasStarts || !starts.contains($0)) })
    }

    /// This batch merged a request into the row of an activity. If a request was refused whole, the row's outcome is
    /// that of an earlier one.
    func isMerged(_ row: String) -> SQL { "\(unescaped: row).batch_number = \(sql: number)" }

    /// The requests' activities that belong to others, as an array of ids.
    func foreign(in scope: Scope) -> SQL {
        guard shape.isGuarded else { return Refusal.nobody }
        return """
            ARRAY(SELECT a.activity_id FROM \(sql: rows(["activity_id", "installation_hash", "subject"]))
                CROSS JOIN LATERAL (
                    SELECT n.* FROM activities n WHERE \(sql: scope.contains("n"))
                        AND n.activity_id = q.activity_id
                    LIMIT 1
                ) AS a
                WHERE NOT \(sql: Ownership.permits("a", subject: "q.subject", installation: "q.installation_hash")))
            """
    }
}

extension ActivityRegistration {
    /// The given aliases, or the defaults for an activity without any.
    fileprivate var givenAliases: AliasSet? { aliases ?? defaultAliases }
}
