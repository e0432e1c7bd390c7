import CLibpq

extension LibpqConnection {
    /// Only the simple protocol accepts several statements in one text.
    func runScript(_ script: String, _ roundTrip: RoundTrip) throws(PostgresError) {
        try exchange(roundTrip) { pointer throws(PostgresError) in
            guard PQexitPipelineMode(pointer) == 1, PQsendQuery(pointer, script) == 1 else {
                throw lost(pointer, nil, roundTrip)
            }
            let failure = try firstFailure(on: pointer, roundTrip)
            guard PQenterPipelineMode(pointer) == 1 else { throw protocolViolation(roundTrip) }
            return ((), failure)
        }
    }

    private func firstFailure(on pointer: OpaquePointer, _ roundTrip: RoundTrip) throws(PostgresError) -> PostgresError?
    {
        var failure: PostgresError?
        while let result = try nextResult(on: pointer, roundTrip) {
            if isLast(result, on: pointer) { throw lost(pointer, result, roundTrip) }
            switch PQresultStatus(result.pointer) {
            case PGRES_COMMAND_OK, PGRES_TUPLES_OK, PGRES_EMPTY_QUERY: break
            case PGRES_FATAL_ERROR:
                failure = PostgresError(report: result.pointer, canCommit: roundTrip.canCommit)
            default: throw protocolViolation(roundTrip)
            }
        }
        return failure
    }

    var isInTransaction: Bool {
        guard let pointer = try? open() else { return false }
        return [PQTRANS_INTRANS, PQTRANS_INERROR].contains(PQtransactionStatus(pointer))
    }
}
