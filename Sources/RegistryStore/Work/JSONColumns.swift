import PostgresDriver
import RegistryCore
import RegistryRules

/// A value replaced as a whole, in a jsonb column.
protocol StoredJSON: CanonicalValue {
    init(stored: JSONB) throws
}

extension AliasSet: StoredJSON {
    init(stored: JSONB) throws {
        guard let value = JSONValue(stored: stored.bytes), let set = try? AliasSet(stored: value) else {
            throw UnreadableRow(detail: "aliases are not valid")
        }
        self = set
    }

    private init(stored value: JSONValue) throws(JSONFaultReason) {
        var aliases: [Alias] = []
        for (kind, values) in try JSONObject.read(value) {
            for element in try [JSONValue].read(values) {
                let text = UTF8Text(try String.read(element))
                aliases.append(Alias(checkedKind: UTF8Text(kind), value: text))
            }
        }
        self.init(stored: aliases)
    }
}

extension Metadata: StoredJSON {
    init(stored: JSONB) throws {
        guard let value = JSONValue(stored: stored.bytes) else { throw UnreadableRow(detail: "metadata is not JSON") }
        self.init(stored: value)
    }
}

extension CanonicalValue {
    var jsonb: JSONB { JSONB(canonicalJSON) }
}

extension Stamped where Value: StoredJSON {
    /// Nil without a value. A value without a time is older than all others.
    init?(_ row: NamedRow, _ column: StaticString, observedAt: StaticString) throws {
        guard let json: JSONB = try row[column] else { return nil }
        self.init(try Value(stored: json), observedAt: try row[observedAt] ?? .distantPast)
    }
}

extension JSONValue {
    /// Nil if invalid. Allows every depth, because it was checked when received.
    init?(stored bytes: [UInt8]) {
        guard let value = try? JSONParser.parse(bytes, maximumDepth: JSONParser.deepestNesting) else { return nil }
        self = value
    }
}
