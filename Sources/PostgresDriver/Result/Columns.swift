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
    /// The expressions as they follow `SELECT` or `RETURNING`.
    public let sql: String
    @usableFromInline let read: @Sendable (inout RowReader) throws -> Value

    /// The basis of all other initializers.
    ///
    /// - Parameters:
    ///   - sql: the expressions, separated by commas.
    ///   - read: reads exactly as many columns; callers get its errors.
    public init(sql: String, read: @escaping @Sendable (inout RowReader) throws -> Value) {
        self.sql = sql
        self.read = read
    }

    // Inlined like all that follows, to be compiled for the types of each value: otherwise each row looks the types up.
    /// Columns in sequence.
    ///
    /// - Parameters:
    ///   - parts: one column each, or several.
    ///   - make: callers get its errors.
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

    /// No column, for a part of a value that is known otherwise.
    @inlinable public static func constant(_ value: Value) -> Columns where Value: Sendable {
        Columns(sql: "") { _ in value }
    }

    /// The columns of several parts in sequence, as a list.
    ///
    /// - Parameter parts: one for each element.
    @inlinable public static func list<Element>(_ parts: [Columns<Element>]) -> Columns where Value == [Element] {
        Columns(sql: parts.map(\.sql).joined(separator: ", ")) { row in try parts.map { try $0.read(&row) } }
    }
}

extension Columns where Value: PostgresDecodable {
    /// - Parameter sql: an expression of our own, never input.
    @inlinable public static func one(_ sql: String) -> Columns {
        Columns(sql: sql) { try $0.next() }
    }
}

extension PostgresRow {
    /// - Throws: ``PostgresError/Code/decoding`` if the number of columns, a type or a value does not fit; errors of
    ///   the value's own initializer.
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

    /// - Throws: ``PostgresError/Code/decoding`` if there is none, or its type or value does not fit.
    public mutating func next<Value: PostgresDecodable>(
        as type: Value.Type = Value.self
    ) throws(PostgresError) -> Value {
        defer { column += 1 }
        return try row.column(column, as: type)
    }

    /// - Throws: as ``next(as:)``; errors of the value's own initializer.
    public mutating func next<Value>(_ columns: Columns<Value>) throws -> Value { try columns.read(&self) }

    /// - Throws: ``PostgresError/Code/decoding`` if columns were left unread.
    @usableFromInline func end() throws(PostgresError) {
        guard column == row.count else {
            throw PostgresError(.decoding, "\(column) of \(row.count) columns were read", at: row.site)
        }
    }
}
