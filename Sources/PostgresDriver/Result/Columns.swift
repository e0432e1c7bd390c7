/// The columns that a statement returns, and the value that is made of them: SQL and decoding in one place.
///
/// ```swift
/// struct Book {
///     let id: Int
///     let title: String?
///     static let columns = Columns(.one("b.id"), .one("b.title"), as: Book.init)
/// }
/// let books = try session.execute("SELECT \(Book.columns) FROM books b").decode(Book.columns)
/// ```
/// The type of each column is that of the parameter of `as` in its place. Columns may be parts of others.
public struct Columns<Value>: Sendable {
    /// The expressions in their order, as they stand after `SELECT` or `RETURNING`.
    public let sql: String
    @usableFromInline let read: @Sendable (inout RowReader) throws -> Value

    /// Columns that are read by a function: what all others are made of.
    ///
    /// - Parameters:
    ///   - sql: the expressions, divided by commas.
    ///   - read: makes the value of as many columns; what it throws, callers get.
    public init(sql: String, read: @escaping @Sendable (inout RowReader) throws -> Value) {
        self.sql = sql
        self.read = read
    }

    // Inlined, as all that follows, so that it is compiled for the types of each value: else each row looks the types up.
    /// Columns one behind the other.
    ///
    /// - Parameters:
    ///   - parts: one column each, or several.
    ///   - make: makes the value of theirs; what it throws, callers get.
    @inlinable public init<each Part>(
        _ parts: repeat Columns<each Part>,
        as make: @escaping @Sendable (repeat each Part) throws -> Value
    ) {
        var texts: [String] = []
        for part in repeat each parts { texts.append(part.sql) }
        let parts = (repeat each parts)
        self.init(sql: texts.filter { !$0.isEmpty }.joined(separator: ", ")) { row in
            try make(repeat try (each parts).read(&row))
        }
    }

    /// No column, where a part of a value is known otherwise.
    @inlinable public static func constant(_ value: Value) -> Columns where Value: Sendable {
        Columns(sql: "") { _ in value }
    }

    /// The same columns of a row, one after another: an element of each of the parts.
    ///
    /// - Parameter parts: as many columns as there are elements.
    @inlinable public static func list<Element>(_ parts: [Columns<Element>]) -> Columns where Value == [Element] {
        Columns(sql: parts.map(\.sql).joined(separator: ", ")) { row in try parts.map { try $0.read(&row) } }
    }
}

extension Columns where Value: PostgresDecodable {
    /// One column.
    ///
    /// - Parameter sql: its expression, of our own: a name or more.
    @inlinable public static func one(_ sql: String) -> Columns {
        Columns(sql: sql) { try $0.next() }
    }
}

extension PostgresRow {
    /// Makes a value of all columns of the row.
    ///
    /// - Throws: ``PostgresError/Code/decoding`` when the number of columns, a type or a value does not fit; what the value's
    ///   own making throws.
    @inlinable public func decode<Value>(_ columns: Columns<Value>) throws -> Value {
        var row = RowReader(self)
        let value = try columns.read(&row)
        try row.end()
        return value
    }
}

extension PostgresResult {
    /// Makes a value of each row; see ``PostgresRow/decode(_:)``.
    @inlinable public func decode<Value>(_ columns: Columns<Value>) throws -> [Value] {
        try rows.map { try $0.decode(columns) }
    }
}

extension SQL.StringInterpolation {
    /// Puts the expressions of columns into the statement.
    public mutating func appendInterpolation<Value>(_ columns: Columns<Value>) {
        appendInterpolation(unescaped: columns.sql)
    }
}

/// A row that is read column by column.
public struct RowReader {
    private let row: PostgresRow
    private var column = 0

    @usableFromInline init(_ row: PostgresRow) { self.row = row }

    /// Decodes the next column.
    ///
    /// - Throws: ``PostgresError/Code/decoding`` when there is none, or its type or value does not fit.
    public mutating func next<Value: PostgresDecodable>(
        as type: Value.Type = Value.self
    ) throws(PostgresError) -> Value {
        defer { column += 1 }
        return try row.column(column, as: type)
    }

    /// Makes the value of the next columns.
    ///
    /// - Throws: as ``next(as:)`` does; what the value's own making throws.
    public mutating func next<Value>(_ columns: Columns<Value>) throws -> Value { try columns.read(&self) }

    /// - Throws: ``PostgresError/Code/decoding`` when there are columns that nobody read.
    @usableFromInline func end() throws(PostgresError) {
        guard column == row.count else {
            throw PostgresError(.decoding, "\(column) of \(row.count) columns were read", at: row.site)
        }
    }
}
