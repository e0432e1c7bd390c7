import CLibpq
import Foundation

/// A value read from a row's columns by name.
package protocol DecodableRow {
    /// - Throws: ``PostgresError/Code/decoding`` if a column is missing, or its type or value does not fit.
    init(row: NamedRow) throws
}

/// A row with columns read by name: `title = try row["title"]`.
package struct NamedRow {
    fileprivate let row: PostgresRow
    fileprivate let names: ColumnNames

    /// Inlinable, because a generic read in another module costs more than the decoding.
    ///
    /// - Throws: ``PostgresError/Code/decoding`` if the column is missing, or its type or value does not fit.
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
        guard let column = names.index(of: name) else { throw row.misfit("no column \(name)") }
        return row.field(column)
    }

    @usableFromInline
    func fault(_ error: PostgresError, in field: PostgresField) -> PostgresError { row.fault(error, in: field) }
}

@available(*, unavailable)
extension NamedRow: Sendable {}

/// A result's column names. Reading columns in order costs one comparison each.
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
    package func decode<Value>(_ read: (NamedRow) throws -> Value) throws -> [Value] {
        let names = ColumnNames(storage)
        var values: [Value] = []
        values.reserveCapacity(count)
        for row in rows { values.append(try read(NamedRow(row: row, names: names))) }
        return values
    }

    package func decode<Row: DecodableRow>(_ type: Row.Type = Row.self) throws -> [Row] {
        try decode(Row.init(row:))
    }
}
