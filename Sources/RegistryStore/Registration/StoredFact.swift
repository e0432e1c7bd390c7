import Foundation
import PostgresDriver
import RegistryCore

/// A fact of an activity as a column of its row, with its time in the column `…_observed_at`.
///
/// All statements that read, write, merge or export facts use ``all``.
struct StoredFact: Sendable {
    let name: String
    let bound: BoundColumn<ActivityFacts>
    /// Reads the next column into the facts. It makes no separate value or list because a fan-out reads a million rows.
    let read: @Sendable (inout RowReader, inout ActivityFacts) throws -> Void
    /// Copies the fact from the former facts to the latter.
    let copy: @Sendable (ActivityFacts, inout ActivityFacts) -> Void

    static let all = [
        StoredFact("attributes_type", \.attributesType),
        StoredFact("frequent_pushes_enabled", \.frequentPushesEnabled),
    ]

    private init<Value: PostgresDecodable & PostgresEncodable & Sendable>(
        _ name: String,
        _ path: any WritableKeyPath<ActivityFacts, Value?> & Sendable
    ) where [Value?]: PostgresEncodable {
        self.name = name
        bound = BoundColumn(name) { $0[keyPath: path] }
        read = { row, facts in facts[keyPath: path] = try row.next() }
        copy = { said, facts in facts[keyPath: path] = said[keyPath: path] }
    }

    var time: String { name + "_observed_at" }
}

extension ActivityFacts {
    static func columns(of row: String) -> Columns<ActivityFacts> {
        Columns(sql: StoredFact.all.map { "\(row).\($0.name)" }.joined(separator: ", ")) { row in
            var facts = ActivityFacts()
            for fact in StoredFact.all { try fact.read(&row, &facts) }
            return facts
        }
    }
}
