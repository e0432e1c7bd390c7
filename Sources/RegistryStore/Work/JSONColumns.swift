import PostgresDriver
import RegistryCore

extension AliasSet {
    init(stored: JSONB) throws {
        guard let value = JSONValue(stored: stored.bytes), let set = try? AliasSet(stored: value) else {
            throw UnreadableRow(detail: "aliases are not valid")
        }
        self = set
    }
}

extension Metadata {
    init(stored: JSONB) throws {
        guard let value = JSONValue(stored: stored.bytes) else { throw UnreadableRow(detail: "metadata is not JSON") }
        self.init(stored: value)
    }
}

extension AliasSet {
    fileprivate init(stored value: JSONValue) throws(JSONFaultReason) {
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

extension JSONValue {
    /// Nil if invalid. Allows every depth, because it was checked when received.
    init?(stored bytes: [UInt8]) {
        guard let value = try? JSONParser.parse(bytes, maximumDepth: JSONParser.deepestNesting) else { return nil }
        self = value
    }
}
