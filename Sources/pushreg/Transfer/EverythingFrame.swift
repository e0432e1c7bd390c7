import RegistryCore

/// A line of an export of everything that is no row.
enum EverythingFrame: Sendable, Hashable {
    /// The first line: the app, and the version of the schema that its rows are of.
    case header(app: String, schema: Int)
    /// The last line: how many rows of each table there are. A file without it is incomplete.
    case end(rows: [String: Int])

    /// Reads a line; nil when it is none.
    init?(_ json: JSONValue) {
        if case .string(let app) = json["export"]?["app"], json["export"]?["everything"] == .bool(true),
            case .integer(let schema) = json["export"]?["schema"]
        {
            self = .header(app: app, schema: Int(schema))
        } else if json["end"] == .bool(true), case .object(let tables) = json["rows"] {
            var rows: [String: Int] = [:]
            for table in tables {
                guard case .integer(let count) = table.value else { return nil }
                rows[table.key] = Int(count)
            }
            self = .end(rows: rows)
        } else {
            return nil
        }
    }
}

extension EverythingFrame: JSONEncodable {
    /// Writes `{"export": {everything, schema, app}}` or `{"end": true, "rows": {table: count}}`.
    func encode(to json: inout JSONWriter) {
        json.object { json in
            switch self {
            case .header(let app, let schema):
                json.object("export") { json in
                    json.member("everything", true)
                    json.member("schema", schema)
                    json.member("app", app)
                }
            case .end(let rows):
                json.member("end", true)
                json.member("rows", rows)
            }
        }
    }
}

extension JSONWriter {
    /// Writes how many rows of each table there are.
    mutating func member(_ name: String, _ rows: [String: Int]) {
        object(name) { json in
            for (table, count) in rows.sorted(by: { $0.key < $1.key }) { json.member(table, count) }
        }
    }
}
