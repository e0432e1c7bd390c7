import PostgresDriver
import RegistryCore

extension ActivityFacts {
    init(row: NamedRow) throws {
        try self.init(forSenders: row)
        pushType = try row["push_type"]
    }

    /// The facts that senders' responses contain.
    init(forSenders row: NamedRow) throws {
        self.init()
        attributesType = try row["attributes_type"]
        frequentPushesEnabled = try row["frequent_pushes_enabled"]
    }

    /// In the column order of `activity_write`.
    func encode(into columns: inout CompositeWriter) {
        columns.append(attributesType)
        columns.append(frequentPushesEnabled)
        columns.append(pushType)
    }
}

extension ActivityPushType: PostgresEncodable, PostgresDecodable {}
