import CLibpq

final class ResultStorage {
    let pointer: OpaquePointer

    init(_ pointer: OpaquePointer) {
        self.pointer = pointer
    }

    deinit {
        PQclear(pointer)
    }
}

/// A statement's result. It is valid only inside the closure that ran the statement: decode there and return values.
package struct PostgresResult {
    let storage: ResultStorage
    let query: String?

    package var count: Int { Int(PQntuples(storage.pointer)) }
    package var isEmpty: Bool { count == 0 }

    /// Rows written or returned; 0 for other statements.
    package var affectedRows: Int { Int(String(cString: PQcmdTuples(storage.pointer))) ?? 0 }

    /// Requires an index from 0 to `count - 1`.
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

    /// The rows in the server's order.
    package var rows: some RandomAccessCollection<PostgresRow> {
        (0..<count).lazy.map { self[$0] }
    }
}

@available(*, unavailable)
extension PostgresResult: Sendable {}
