import CLibpq

extension Link {
    /// Runs a script in the simple protocol, which alone takes several statements in one text.
    func runScript(_ script: String, _ exchange: Exchange) throws(PostgresError) {
        let pointer = try open()
        guard !exchange.deadline.isPassed else {
            throw PostgresError(.deadlineExceeded, outcome: .nothingTookEffect, at: exchange.site)
        }
        guard PQexitPipelineMode(pointer) == 1, PQsendQuery(pointer, script) == 1 else {
            throw lost(pointer, nil, exchange)
        }
        let failure = try firstFailure(on: pointer, exchange)
        guard PQenterPipelineMode(pointer) == 1 else { throw confused(exchange) }
        if let failure { throw finished(failure) }
        try checkReplication(exchange)
    }

    /// Reads all answers to a script.
    private func firstFailure(on pointer: OpaquePointer, _ exchange: Exchange) throws(PostgresError) -> PostgresError? {
        var failure: PostgresError?
        while let result = try nextResult(on: pointer, exchange) {
            if isLast(result, on: pointer) { throw lost(pointer, result, exchange) }
            switch PQresultStatus(result.pointer) {
            case PGRES_COMMAND_OK, PGRES_TUPLES_OK, PGRES_EMPTY_QUERY: break
            case PGRES_FATAL_ERROR:
                failure = PostgresError(report: result.pointer, canCommit: exchange.canCommit, at: exchange.site)
            default: throw confused(exchange)
            }
        }
        return failure
    }

    /// Whether the server is inside of an explicit transaction.
    var isInTransaction: Bool {
        guard let pointer = try? open() else { return false }
        return [PQTRANS_INTRANS, PQTRANS_INERROR].contains(PQtransactionStatus(pointer))
    }
}
