/// An explicit transaction, lent to the body of ``PostgresSession/transaction(_:)``.
///
/// Until COMMIT is sent, connection errors are safe to retry, because the server rolls back.
package struct PostgresTransaction: ~Copyable {
    let link: LibpqConnection
    let deadline: Deadline
    let progress = Progress()
    package var isDistributed: Bool { link.isDistributed }

    final class Progress {
        enum Stage {
            case notBegun
            case open
            case ended
        }

        var stage = Stage.notBegun
        /// The first error; the transaction can no longer commit.
        var failure: PostgresError?
    }

    package func execute(_ sql: SQL) throws(PostgresError) -> PostgresResult { try pipeline([sql])[0] }

    package func run(_ query: Query, _ values: QueryValues = [:]) throws(PostgresError) -> PostgresResult {
        try execute(query(values))
    }

    /// - Parameter finishing: sends COMMIT in this round trip; the transaction then accepts no more statements.
    /// - Throws: the error of the first failed statement, or of COMMIT.
    package func pipeline(
        _ statements: [SQL],
        finishing: Bool = false
    ) throws(PostgresError) -> [PostgresResult] {
        try guarded { () throws(PostgresError) in
            let opening: [SQL] = progress.stage == .notBegun ? ["BEGIN"] : []
            if finishing { progress.stage = .ended }
            let roundTrip = RoundTrip(deadline: deadline, canCommit: finishing)
            let results = try link.run(opening + statements + (finishing ? ["COMMIT"] : []), roundTrip)
            if finishing { link.mayHaveCommitted = true } else { progress.stage = .open }
            try checkStage()
            return Array(results.dropFirst(opening.count).prefix(statements.count))
        }
    }

    /// The script must not contain transaction commands.
    package func simple(_ script: String) throws(PostgresError) {
        if progress.stage == .notBegun { _ = try pipeline([]) }
        try guarded { () throws(PostgresError) in
            try link.runScript(script, RoundTrip(deadline: deadline, canCommit: false))
            try checkStage()
        }
    }

    func commit() throws(PostgresError) {
        if let failure = progress.failure { throw failure }
        guard progress.stage == .open else { return }
        _ = try pipeline([], finishing: true)
    }

    /// Runs after the body throws. If it fails, closes the connection, with the same effect.
    func rollBack() {
        guard link.isInTransaction else { return }
        if (try? link.run(["ROLLBACK"], RoundTrip(deadline: deadline, canCommit: false))) == nil { link.close() }
    }

    private func guarded<Value>(_ step: () throws(PostgresError) -> Value) throws(PostgresError) -> Value {
        if let failure = progress.failure { throw failure }
        guard progress.stage != .ended else { throw PostgresError(.misuse, "the transaction has ended") }
        do throws(PostgresError) {
            return try step()
        } catch {
            if error.outcome == .unknown { link.mayHaveCommitted = true }
            progress.failure = error
            throw error
        }
    }

    private func checkStage() throws(PostgresError) {
        guard link.isInTransaction == (progress.stage == .open) else {
            link.isUnusable = true
            throw PostgresError(.misuse, "only transaction(_:) may run COMMIT, ROLLBACK and BEGIN")
        }
    }
}
