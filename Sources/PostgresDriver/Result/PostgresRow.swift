import CLibpq

/// One row of a result.
package struct PostgresRow {
    let storage: ResultStorage
    let index: Int32
    let query: String?

    package var count: Int { Int(PQnfields(storage.pointer)) }

    /// Decodes all columns in order: `row.decode(Int.self, String?.self)`.
    ///
    /// - Throws: ``PostgresError/Code/decoding`` if the number of columns, a type or a value does not fit.
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

    /// - Throws: ``PostgresError/Code/decoding`` if the row has other columns, or the type or value does not fit.
    package func decode<Value: PostgresDecodable>(_ type: Value.Type) throws(PostgresError) -> Value {
        guard count == 1 else { throw misfit("1 type for \(count) columns") }
        return try column(0, as: type)
    }

    /// - Throws: ``PostgresError/Code/decoding`` if the column is missing, or its type or value does not fit.
    func column<Value: PostgresDecodable>(_ column: Int, as: Value.Type) throws(PostgresError) -> Value {
        guard column >= 0, column < count else { throw misfit("no column \(column)") }
        let field = field(column)
        do throws(PostgresError) {
            return try field.decode()
        } catch {
            throw fault(error, in: field)
        }
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
