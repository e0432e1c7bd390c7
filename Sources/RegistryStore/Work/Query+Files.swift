import PostgresDriver
import Queries
import RegistryCore

/// Finds a query by name: `static let putChannel: Query = "channels.put"`.
extension Query: ExpressibleByStringLiteral {
    static let all: [UTF8Text: Query] = {
        let queries = QueryFiles.contents.flatMap { parse(String(decoding: $0, as: UTF8.self)) }
        return Dictionary(uniqueKeysWithValues: queries.map { (UTF8Text($0.name), $0) })
    }()

    package init(stringLiteral name: String) {
        guard let query = Self.all[UTF8Text(name)] else { preconditionFailure("sql/queries has no query \(name)") }
        self = query
    }
}
