import Foundation
import PostgresDriver
import RegistryCore

/// A fact of an activity as a column of its row; the time from which it holds is in another one, `…_observed_at`.
///
/// All statements that read, write, merge or export facts take them from ``all``.
struct StoredFact: Sendable {
    let name: String
    let bound: BoundColumn<ActivityFacts>
    private let read: @Sendable (String) -> Columns<Setter>

    /// Says the fact, if it is known.
    typealias Setter = @Sendable (inout ActivityFacts) -> Void

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
        read = { row in
            Columns(
                .one("\(row).\(name)"),
                as: { (value: Value?) in { @Sendable facts in facts[keyPath: path] = value } }
            )
        }
    }

    var time: String { name + "_observed_at" }

    /// The fact of the row called `row`.
    func column(of row: String) -> Columns<Setter> { read(row) }
}

extension ActivityFacts {
    /// The facts in the row called `row`.
    static func columns(of row: String) -> Columns<ActivityFacts> {
        Columns(
            .list(StoredFact.all.map { $0.column(of: row) }),
            as: { say in
                var facts = ActivityFacts()
                for say in say { say(&facts) }
                return facts
            }
        )
    }
}
