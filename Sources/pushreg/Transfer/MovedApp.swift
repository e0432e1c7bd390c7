import RegistryCore

/// An app that was exported or imported whole, and how many rows of each table it has.
struct MovedApp: Sendable {
    let app: String
    let rows: [String: Int]

    var count: Int { rows.values.reduce(0, +) }

    /// `12 rows: activities 7, api_keys 4, apps 1`, without tables of which there is none.
    var sentence: String {
        let tables = rows.filter { $0.value > 0 }.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }
        return "\(count) rows: \(tables.joined(separator: ", "))"
    }
}

extension MovedApp: JSONEncodable {
    /// Writes `{app, rows: {table: count}}`.
    func encode(to json: inout JSONWriter) {
        json.object { json in
            json.member("app", app)
            json.member("rows", rows)
        }
    }
}
