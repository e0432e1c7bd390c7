import CLibpq
import Foundation

/// A value that is read from the columns of one row by their names.
package protocol DecodableRow {
    /// - Throws: ``PostgresError/Code/decoding`` if a column is missing, or its type or value does not fit.
    init(row: NamedRow) throws
}

/// One row of a result, whose columns are read by name: `title = try row["title"]`.
package struct NamedRow {
    fileprivate let row: PostgresRow
    fileprivate let names: ColumnNames

    /// Inlinable: in other modules, the generic read of a column would cost more than its decoding.
    ///
    /// - Throws: ``PostgresError/Code/decoding`` if there is no such column, or its type or value does not fit.
    @inlinable
    package subscript<Value: PostgresDecodable>(name: StaticString) -> Value {
        get throws(PostgresError) {
            let field = try field(name)
            do throws(PostgresError) {
                return try field.decode()
            } catch {
                throw fault(error, in: field)
            }
        }
    }

    @usableFromInline
    func field(_ name: StaticString) throws(PostgresError) -> PostgresField {
        guard let column = names.index(of: name) else {
            throw PostgresError(.decoding, "no column \(name)", at: row.site)
        }
        return row.field(column)
    }

    @usableFromInline
    func fault(_ error: PostgresError, in field: PostgresField) -> PostgresError { row.fault(error, in: field) }
}

@available(*, unavailable)
extension NamedRow: Sendable {}

/// The columns of one result. Rows that are read in the order of the columns cost one comparison of names per column.
private final class ColumnNames {
    private let result: OpaquePointer
    private let count: Int32
    private var next: Int32 = 0

    init(_ storage: ResultStorage) {
        result = storage.pointer
        count = PQnfields(storage.pointer)
    }

    func index(of name: StaticString) -> Int? {
        let text = UnsafeRawPointer(name.utf8Start).assumingMemoryBound(to: CChar.self)
        for _ in 0..<count {
            let column = next < count ? next : 0
            next = column + 1
            if strcmp(PQfname(result, column), text) == 0 { return Int(column) }
        }
        return nil
    }
}

extension PostgresResult {
    /// Reads a value from each row by the names of its columns.
    package func decode<Value>(_ read: (NamedRow) throws -> Value) throws -> [Value] {
        let names = ColumnNames(storage)
        var values: [Value] = []
        values.reserveCapacity(count)
        for row in rows { values.append(try read(NamedRow(row: row, names: names))) }
        return values
    }

    /// Reads a value from each row by the names of its columns.
    package func decode<Row: DecodableRow>(_ type: Row.Type = Row.self) throws -> [Row] {
        try decode(Row.init(row:))
    }
}
