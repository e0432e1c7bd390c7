final class TransactionProgress {
    enum Stage {
        case notBegun
        case open
        case ended
    }

    var stage = Stage.notBegun
    /// The first error; the transaction can no longer commit.
    var failure: PostgresError?
}

/// An explicit transaction, lent to the body of ``PostgresSession/transaction(file:line:_:)``.
///
/// Until COMMIT is sent, connection errors are safe to retry, because the server rolls back.
package struct PostgresTransaction: ~Copyable {
    let link: LibpqConnection
    let deadline: Deadline
    let progress: TransactionProgress
    package var isDistributed: Bool { link.isDistributed }

    package func execute(
        _ sql: SQL,
        file: String = #fileID,
        line: Int = #line
    ) throws(PostgresError) -> PostgresResult {
        try pipeline([sql], file: file, line: line)[0]
    }

    package func run(
        _ query: Query,
        _ values: QueryValues = [:],
        file: String = #fileID,
        line: Int = #line
    ) throws(PostgresError) -> PostgresResult {
        try execute(query(values), file: file, line: line)
    }

    /// - Parameter finishing: sends COMMIT in this round trip; the transaction then accepts no more statements.
    /// - Throws: the error of the first failed statement, or of COMMIT.
    package func pipeline(
        _ statements: [SQL],
        finishing: Bool = false,
        file: String = #fileID,
        line: Int = #line
    ) throws(PostgresError) -> [PostgresResult] {
        let site = CallSite(file: file, line: line)
        return try guarded(at: site) { () throws(PostgresError) in
            let opening: [SQL] = progress.stage == .notBegun ? ["BEGIN"] : []
            if finishing { progress.stage = .ended }
            let roundTrip = RoundTrip(deadline: deadline, canCommit: finishing, site: site)
            let results = try link.run(opening + statements + (finishing ? ["COMMIT"] : []), roundTrip)
            if finishing { link.mayHaveCommitted = true } else { progress.stage = .open }
            try checkStage(at: site)
            return Array(results.dropFirst(opening.count).prefix(statements.count))
        }
    }

    /// The script must not contain transaction commands.
    package func simple(_ script: String, file: String = #fileID, line: Int = #line) throws(PostgresError) {
        let site = CallSite(file: file, line: line)
        if progress.stage == .notBegun { _ = try pipeline([], file: file, line: line) }
        try guarded(at: site) { () throws(PostgresError) in
            try link.runScript(script, RoundTrip(deadline: deadline, canCommit: false, site: site))
            try checkStage(at: site)
        }
    }

    func commit(at site: CallSite) throws(PostgresError) {
        if let failure = progress.failure { throw failure }
        guard progress.stage == .open else { return }
        _ = try pipeline([], finishing: true, file: site.file, line: site.line)
    }

    /// Runs after the body throws. If it fails, closes the connection, with the same effect.
    func rollBack() {
        guard link.isInTransaction else { return }
        let roundTrip = RoundTrip(deadline: deadline, canCommit: false, site: .unknown)
        if (try? link.run(["ROLLBACK"], roundTrip)) == nil { link.close() }
    }

    private func guarded<Value>(
        at site: CallSite,
        _ step: () throws(PostgresError) -> Value
    ) throws(PostgresError) -> Value {
        if let failure = progress.failure { throw failure }
        guard progress.stage != .ended else {
            throw PostgresError(.misuse, "the transaction has ended", at: site)
        }
        do throws(PostgresError) {
            return try step()
        } catch {
            if error.outcome == .unknown { link.mayHaveCommitted = true }
            let failure = error.located(at: site)
            progress.failure = failure
            throw failure
        }
    }

    private func checkStage(at site: CallSite) throws(PostgresError) {
        guard link.isInTransaction == (progress.stage == .open) else {
            link.markUnusable()
            throw PostgresError(.misuse, "only transaction(_:) may run COMMIT, ROLLBACK and BEGIN", at: site)
        }
    }
}
