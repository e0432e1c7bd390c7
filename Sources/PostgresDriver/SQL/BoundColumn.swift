/// A column of the rows that a statement is given, bound as one array: its name there, its type and its values.
///
/// ```swift
/// let columns: [BoundColumn<Book>] = [.init("id", \.id), .init("title", \.title)]
/// let rows = SQL.unnest(columns.map { ($0.name, "\(value: $0.bind(books))") }, as: "b")
/// let statement: SQL = "INSERT INTO books (id, title) SELECT b.id, b.title FROM \(sql: rows)"
/// ```
public struct BoundColumn<Row>: Sendable {
    /// The name under which statements speak of it.
    public let name: String
    /// The type of the array.
    public let type: PostgresType
    /// Binds the column of some rows.
    public let bind: @Sendable ([Row]) -> PostgresParameter

    /// - Parameter name: of our own, never input.
    public init<Value>(_ name: String, _ value: @escaping @Sendable (Row) -> Value) where [Value]: PostgresEncodable {
        self.init(name: name, type: [Value].postgresType) { PostgresParameter($0.map(value)) }
    }

    /// The same column, for rows that contain a `Row`.
    public func of<Whole>(_ part: @escaping @Sendable (Whole) -> Row) -> BoundColumn<Whole> {
        BoundColumn<Whole>(name: name, type: type) { bind($0.map(part)) }
    }

    private init(name: String, type: PostgresType, bind: @escaping @Sendable ([Row]) -> PostgresParameter) {
        self.name = name
        self.type = type
        self.bind = bind
    }
}

extension SQL {
    /// Arrays as rows: `unnest(…) AS row (…)`, for a `FROM` clause.
    ///
    /// - Parameters:
    ///   - row: the name of the rows.
    ///   - position: the name of one more column, the number of the row from 1.
    public static func unnest(
        _ columns: [(name: String, array: SQL)],
        as row: String,
        position: String? = nil
    ) -> SQL {
        var arrays = StringInterpolation(literalCapacity: 0, interpolationCount: 0)
        for (index, column) in columns.enumerated() {
            if index > 0 { arrays.appendLiteral(", ") }
            arrays.appendInterpolation(sql: column.array)
        }
        let names = (columns.map(\.name) + (position.map { [$0] } ?? [])).joined(separator: ", ")
        let ordinality = position == nil ? "" : " WITH ORDINALITY"
        return
            "unnest(\(sql: SQL(stringInterpolation: arrays)))\(unescaped: ordinality) AS \(unescaped: row) (\(unescaped: names))"
    }
}
