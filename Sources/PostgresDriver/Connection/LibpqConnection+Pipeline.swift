import CLibpq
import Foundation

struct RoundTrip {
    let deadline: Deadline
    /// If true, a connection lost during the round trip leaves the outcome unknown.
    let canCommit: Bool

    var outcomeIfLost: PostgresError.Outcome { canCommit ? .unknown : .nothingTookEffect }
}

private enum Step {
    case prepare(String)
    case execute
    case sync
}

extension LibpqConnection {
    /// Runs statements in one round trip with one sync. Outside `BEGIN` this is one transaction.
    ///
    /// - Throws: the error of the first failed statement, after the server has confirmed the end of the round trip.
    func run(_ statements: [SQL], _ roundTrip: RoundTrip) throws(PostgresError) -> [PostgresResult] {
        if let tooLong = statements.first(where: { $0.parameters.count > Int(UInt16.max) }) {
            throw PostgresError(.misuse, "\(tooLong.parameters.count) parameters, over 65535")
        }
        return try exchange(roundTrip) { pointer throws(PostgresError) in
            let steps = try queue(statements, on: pointer, roundTrip)
            return try receive(steps, of: statements, on: pointer, roundTrip)
        }
    }

    /// Asks the server, and rejects an answer that does not count.
    func exchange<Answer>(
        _ roundTrip: RoundTrip,
        _ ask: (OpaquePointer) throws(PostgresError) -> (Answer, PostgresError?)
    ) throws(PostgresError) -> Answer {
        let pointer = try open()
        (answersBefore, lastQuestion) = (generation?.answers ?? 0, .now)
        guard !roundTrip.deadline.isPassed else { throw PostgresError(.deadlineExceeded, outcome: .nothingTookEffect) }
        let (answer, failure) = try ask(pointer)
        generation?.noteAnswer()
        if let failure {
            if failure.code == .connectionLost || failure.hasStalePreparedStatements { close() }
            if failure.sqlState == SQLState.readOnlyTransaction { isUnusable = true }
            throw failure
        }
        guard generation?.isOver != true else {
            close()
            throw PostgresError(.connectionLost, "the pool abandoned this server", outcome: roundTrip.outcomeIfLost)
        }
        // Only this server has the commit.
        guard !sawUnreplicatedCommit else {
            sawUnreplicatedCommit = false
            throw PostgresError(.commitNotReplicated, outcome: .unknown)
        }
        return answer
    }

    /// libpq sends as much as the socket accepts, and the rest while answers are read.
    private func queue(
        _ sqls: [SQL],
        on pointer: OpaquePointer,
        _ roundTrip: RoundTrip
    ) throws(PostgresError) -> [Step] {
        var steps: [Step] = []
        var fresh: Set<String> = []
        for sql in sqls {
            if let query = sql.query, !prepared.contains(query), fresh.insert(query).inserted {
                guard PQsendPrepare(pointer, query, sql.text, 0, nil) == 1 else { throw lost(nil, roundTrip) }
                steps.append(.prepare(query))
            }
            guard sql.send(on: pointer) else { throw lost(nil, roundTrip) }
            steps.append(.execute)
        }
        steps.append(.sync)
        guard PQpipelineSync(pointer) == 1 else { throw lost(nil, roundTrip) }
        return steps
    }

    /// Reads all answers up to the last sync, because rows can arrive before their commit.
    ///
    /// - Returns: the results, and the error of the first failed statement.
    private func receive(
        _ steps: [Step],
        of statements: [SQL],
        on pointer: OpaquePointer,
        _ roundTrip: RoundTrip
    ) throws(PostgresError) -> ([PostgresResult], PostgresError?) {
        var results: [PostgresResult] = []
        var failure: PostgresError?
        for step in steps {
            var isAnswered = false
            while !isAnswered {
                let result = try answer(on: pointer, roundTrip)
                isAnswered = true
                switch (step, PQresultStatus(result.pointer)) {
                case (.prepare(let query), PGRES_COMMAND_OK): prepared.insert(query)
                case (.execute, PGRES_TUPLES_OK), (.execute, PGRES_COMMAND_OK), (.execute, PGRES_EMPTY_QUERY):
                    results.append(PostgresResult(storage: result, query: statements[results.count].query))
                case (.sync, PGRES_PIPELINE_SYNC), (_, PGRES_PIPELINE_ABORTED): break
                case (_, PGRES_FATAL_ERROR):
                    let statement = results.count < statements.count ? statements[results.count] : nil
                    failure = PostgresError(report: result.pointer, canCommit: roundTrip.canCommit)
                        .inQuery(statement?.query)
                    // The commit failed, for example in a deferred constraint. The sync result follows.
                    if case .sync = step { isAnswered = false }
                default: throw protocolViolation(roundTrip)
                }
            }
        }
        return (results, failure)
    }

    /// Also reads the end mark, which a sync lacks.
    private func answer(on pointer: OpaquePointer, _ roundTrip: RoundTrip) throws(PostgresError) -> ResultStorage {
        guard let result = try nextResult(on: pointer, roundTrip) else { throw protocolViolation(roundTrip) }
        if isLast(result, on: pointer) { throw lost(result, roundTrip) }
        if PQresultStatus(result.pointer) != PGRES_PIPELINE_SYNC {
            guard try nextResult(on: pointer, roundTrip) == nil else { throw protocolViolation(roundTrip) }
        }
        return result
    }

    /// Whether the server announced the end of the connection or is gone.
    func isLast(_ result: ResultStorage, on pointer: OpaquePointer) -> Bool {
        PQstatus(pointer) == CONNECTION_BAD
            || PQresultStatus(result.pointer) == PGRES_FATAL_ERROR
                && PostgresError(report: result.pointer, canCommit: false).code == .connectionLost
    }

    func nextResult(on pointer: OpaquePointer, _ roundTrip: RoundTrip) throws(PostgresError) -> ResultStorage? {
        // At the end of the stream, libpq parses the bytes already read and cannot block any more.
        var isEnded = false
        while !isEnded, PQisBusy(pointer) == 1 {
            // If sending failed, the server's last message may still be readable.
            let events = PQflush(pointer) == 1 ? POLLIN | POLLOUT : POLLIN
            try wait(for: events, until: roundTrip.deadline, outcome: roundTrip.outcomeIfLost)
            isEnded = PQconsumeInput(pointer) != 1
        }
        return PQgetResult(pointer).map(ResultStorage.init)
    }

    /// Closes the connection. Uses the server's last message if available.
    func lost(_ result: ResultStorage?, _ roundTrip: RoundTrip) -> PostgresError {
        defer { close() }
        if let result, PostgresError.field("C", of: result.pointer) != nil {
            return PostgresError(report: result.pointer, canCommit: roundTrip.canCommit)
        }
        return PostgresError(.connectionLost, outcome: roundTrip.outcomeIfLost)
    }

    func protocolViolation(_ roundTrip: RoundTrip) -> PostgresError {
        close()
        let message = "an unexpected result, for example of COPY"
        return PostgresError(.connectionLost, message, outcome: roundTrip.outcomeIfLost)
    }

    /// Only the simple protocol accepts several statements in one text.
    func runScript(_ script: String, _ roundTrip: RoundTrip) throws(PostgresError) {
        try exchange(roundTrip) { pointer throws(PostgresError) in
            let isSent = PQexitPipelineMode(pointer) == 1 && PQsendQuery(pointer, script) == 1
            guard isSent else { throw lost(nil, roundTrip) }
            let failure = try firstFailure(on: pointer, roundTrip)
            guard PQenterPipelineMode(pointer) == 1 else { throw protocolViolation(roundTrip) }
            return ((), failure)
        }
    }

    private func firstFailure(on pointer: OpaquePointer, _ roundTrip: RoundTrip) throws(PostgresError) -> PostgresError?
    {
        var failure: PostgresError?
        while let result = try nextResult(on: pointer, roundTrip) {
            if isLast(result, on: pointer) { throw lost(result, roundTrip) }
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

extension SQL {
    fileprivate func send(on pointer: OpaquePointer) -> Bool {
        if let query, parameters.isEmpty { return PQsendQueryPrepared(pointer, query, 0, nil, nil, nil, 1) == 1 }
        // One buffer holds all values, so that their addresses stay valid together. The last byte gives an empty value
        // at the end an address; a null address would mean NULL.
        var bytes: [UInt8] = []
        bytes.reserveCapacity(parameters.reduce(1) { $0 + ($1.bytes?.count ?? 0) })
        for parameter in parameters { bytes.append(contentsOf: parameter.bytes ?? []) }
        bytes.append(0)
        return bytes.withUnsafeBytes { bytes in
            var values: [UnsafePointer<CChar>?] = []
            var lengths: [Int32] = []
            var offset = 0
            for parameter in parameters {
                let start = bytes.baseAddress!.assumingMemoryBound(to: CChar.self) + offset
                values.append(parameter.bytes == nil ? nil : start)
                lengths.append(Int32(parameter.bytes?.count ?? 0))
                offset += parameter.bytes?.count ?? 0
            }
            let count = Int32(parameters.count)
            let formats = [Int32](repeating: 1, count: parameters.count)
            if let query { return PQsendQueryPrepared(pointer, query, count, values, lengths, formats, 1) == 1 }
            let types = parameters.map(\.type.rawValue)
            return PQsendQueryParams(pointer, text, count, types, values, lengths, formats, 1) == 1
        }
    }
}
