import CLibpq
import Foundation

final class ResultStorage {
    let pointer: OpaquePointer

    init(_ pointer: OpaquePointer) { self.pointer = pointer }

    deinit { PQclear(pointer) }
}

/// A statement's result. It is valid only inside the closure that ran the statement: decode there and return values.
package struct PostgresResult {
    let storage: ResultStorage
    let query: String?

    package var count: Int { Int(PQntuples(storage.pointer)) }
    package var isEmpty: Bool { count == 0 }

    /// Rows written or returned; 0 for other statements.
    package var affectedRows: Int { Int(String(cString: PQcmdTuples(storage.pointer))) ?? 0 }

    package subscript(index: Int) -> PostgresRow {
        precondition(index >= 0 && index < count, "row \(index) is out of range; the result has \(count) rows")
        return PostgresRow(storage: storage, index: Int32(index), query: query)
    }

    /// Decodes the only column of each row.
    package func decode<Value: PostgresDecodable>(_ type: Value.Type) throws(PostgresError) -> [Value] {
        var values: [Value] = []
        values.reserveCapacity(count)
        for row in rows { values.append(try row.decode(type)) }
        return values
    }

    /// Decodes all columns of each row, in order.
    package func decode<each Column: PostgresDecodable>(
        _ types: repeat (each Column).Type
    ) throws(PostgresError) -> [(repeat each Column)] {
        var values: [(repeat each Column)] = []
        values.reserveCapacity(count)
        for row in rows { values.append(try row.decode(repeat each types)) }
        return values
    }

    package var rows: some RandomAccessCollection<PostgresRow> { (0..<count).lazy.map { self[$0] } }

    package func decode<Value>(_ read: (NamedRow) throws -> Value) throws -> [Value] {
        let names = ColumnNames(storage)
        var values: [Value] = []
        values.reserveCapacity(count)
        for row in rows { values.append(try read(NamedRow(row: row, names: names))) }
        return values
    }

    package func decode<Row: DecodableRow>(_ type: Row.Type = Row.self) throws -> [Row] { try decode(Row.init(row:)) }
}

@available(*, unavailable)
extension PostgresResult: Sendable {}

package struct PostgresRow {
    let storage: ResultStorage
    let index: Int32
    let query: String?

    package var count: Int { Int(PQnfields(storage.pointer)) }

    /// Decodes all columns in order: `row.decode(Int.self, String?.self)`.
    package func decode<each Column: PostgresDecodable>(
        _ types: repeat (each Column).Type
    ) throws(PostgresError) -> (repeat each Column) {
        var width = 0
        for _ in repeat each types { width += 1 }
        guard width == count else { throw misfit("\(width) types for \(count) columns") }
        var next = 0
        func column<Value: PostgresDecodable>(_ type: Value.Type) throws(PostgresError) -> Value {
            defer { next += 1 }
            return try self.column(next, as: type)
        }
        return (repeat try column(each types))
    }

    package func decode<Value: PostgresDecodable>(_ type: Value.Type) throws(PostgresError) -> Value {
        guard count == 1 else { throw misfit("1 type for \(count) columns") }
        return try column(0, as: type)
    }

    func column<Value: PostgresDecodable>(_ column: Int, as: Value.Type) throws(PostgresError) -> Value {
        let field = field(column)
        do throws(PostgresError) {
            return try field.decode()
        } catch { throw fault(error, in: field) }
    }

    func field(_ column: Int) -> PostgresField {
        let number = Int32(column)
        let isNull = PQgetisnull(storage.pointer, index, number) != 0
        let length = Int(PQgetlength(storage.pointer, index, number))
        return PostgresField(
            column: column,
            type: PostgresType(rawValue: PQftype(storage.pointer, number)),
            bytes: isNull
                ? nil : UnsafeRawBufferPointer(start: PQgetvalue(storage.pointer, index, number), count: length)
        )
    }

    func fault(_ error: PostgresError, in field: PostgresField) -> PostgresError {
        let name = PQfname(storage.pointer, Int32(field.column)).map { String(cString: $0) } ?? ""
        return misfit("column \(field.column) (\(name)): \(error.message ?? "")")
    }

    func misfit(_ message: String) -> PostgresError { PostgresError(.decoding, message).inQuery(query) }
}

@available(*, unavailable)
extension PostgresRow: Sendable {}

@usableFromInline
struct PostgresField {
    let column: Int
    @usableFromInline let type: PostgresType
    /// Nil is NULL.
    @usableFromInline let bytes: UnsafeRawBufferPointer?

    @inlinable
    func decode<Value: PostgresDecodable>() throws(PostgresError) -> Value {
        guard let bytes else { return try Value(postgresNull: type) }
        return try Value(postgres: bytes, type: type)
    }
}

/// A value read from a row's columns by name.
package protocol DecodableRow {
    init(row: NamedRow) throws
}

/// A row with columns read by name: `title = try row["title"]`.
package struct NamedRow {
    fileprivate let row: PostgresRow
    fileprivate let names: ColumnNames

    /// Inlinable, because a generic read in another module costs more than the decoding.
    @inlinable
    package subscript<Value: PostgresDecodable>(name: StaticString) -> Value {
        get throws(PostgresError) {
            let field = try field(name)
            do throws(PostgresError) {
                return try field.decode()
            } catch { throw fault(error, in: field) }
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
