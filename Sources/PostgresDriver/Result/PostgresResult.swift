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
public struct PostgresResult {
    let storage: ResultStorage
    let site: CallSite

    /// The number of returned rows.
    public var count: Int { Int(PQntuples(storage.pointer)) }

    /// Whether no row was returned.
    public var isEmpty: Bool { count == 0 }

    /// Rows written or returned; 0 for other statements.
    public var affectedRows: Int { Int(String(cString: PQcmdTuples(storage.pointer))) ?? 0 }

    /// Requires an index from 0 to `count - 1`.
    public subscript(index: Int) -> PostgresRow {
        precondition(index >= 0 && index < count, "row \(index) is out of range; the result has \(count) rows")
        return PostgresRow(storage: storage, index: Int32(index), site: site)
    }

    /// Decodes the only column of each row.
    public func decode<Value: PostgresDecodable>(_ type: Value.Type) throws(PostgresError) -> [Value] {
        var values: [Value] = []
        values.reserveCapacity(count)
        for row in rows { values.append(try row.decode(type)) }
        return values
    }

    /// Decodes all columns of each row, in order.
    public func decode<each Column: PostgresDecodable>(
        _ types: repeat (each Column).Type
    ) throws(PostgresError) -> [(repeat each Column)] {
        var values: [(repeat each Column)] = []
        values.reserveCapacity(count)
        for row in rows { values.append(try row.decode(repeat each types)) }
        return values
    }

    /// The rows in the server's order.
    public var rows: some RandomAccessCollection<PostgresRow> {
        (0..<count).lazy.map { self[$0] }
    }
}

@available(*, unavailable)
extension PostgresResult: Sendable {}
