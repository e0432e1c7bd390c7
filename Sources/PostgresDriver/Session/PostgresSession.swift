/// One connection, lent to a synchronous closure that runs on the connection's thread.
///
/// It cannot be copied or stored, so it does not outlive the closure, and transactions cannot idle across an `await`.
/// Calls block until the server answers or the deadline passes; the connection is then closed.
///
/// Every method throws ``PostgresError``. Its `isSafeToRetry` applies to the whole closure: it is false after the
/// closure has committed.
package struct PostgresSession: ~Copyable {
    let link: LibpqConnection
    let deadline: Deadline
    /// Whether the caller's work may run twice, as reads may.
    var isIdempotent = false
    package var isRenewable: Bool { link.stage == .outside && link.isReusable }

    /// The connection for another unit of work with its own deadline, as if newly lent: earlier commits do not affect
    /// whether a retry is safe. Requires `isRenewable`.
    package func renewed(timeout: Duration) -> PostgresSession {
        precondition(link.stage == .outside, "a transaction is open")
        link.beginWork()
        return PostgresSession(link: link, deadline: .after(timeout), isIdempotent: isIdempotent)
    }

    package var isDistributed: Bool { link.isDistributed }

    /// Marks a server that forwards statements: ``pipeline(_:)`` then sends BEGIN and COMMIT.
    ///
    /// Plain Postgres runs a round trip as one transaction. Without BEGIN, a Citus worker commits each statement
    /// separately.
    package func noteDistribution() { link.isDistributed = true }
    package func execute(_ sql: SQL) throws(PostgresError) -> PostgresResult { try pipeline([sql])[0] }

    package func run(_ query: Query, _ values: QueryValues = [:]) throws(PostgresError) -> PostgresResult {
        try execute(query(values))
    }

    /// Runs statements in one round trip and one transaction.
    ///
    /// Reads (``RetryPolicy/idempotentRead``) on a distributed server get no transaction, because they need none.
    ///
    /// - Returns: one result per statement, after the server has confirmed the commit.
    package func pipeline(_ statements: [SQL]) throws(PostgresError) -> [PostgresResult] {
        guard statements.count < 2 || isIdempotent || !link.isDistributed else { return try block(statements) }
        return try unit { link, roundTrip throws(PostgresError) in
            let results = try link.run(statements, roundTrip)
            guard !link.isInTransaction else {
                link.isUnusable = true
                throw PostgresError(.misuse, "only transaction(_:) may run BEGIN")
            }
            return results
        }
    }

    private func block(_ statements: [SQL]) throws(PostgresError) -> [PostgresResult] {
        do {
            return try transaction { try $0.pipeline(statements, finishing: true) }
        } catch { throw error as? PostgresError ?? PostgresError(.misuse) }
    }

    /// Runs several statements without parameters, for migrations.
    ///
    /// The server runs them as one transaction unless the script contains transaction commands. Its errors are
    /// therefore never safe to retry.
    package func simple(_ script: String) throws(PostgresError) {
        try unit { link, roundTrip throws(PostgresError) in
            // Part of the script may be committed even if the rest fails.
            link.mayHaveCommitted = true
            try link.runScript(script, roundTrip)
        }
    }

    /// Runs the body in a transaction: COMMIT after it returns, ROLLBACK if it throws.
    ///
    /// BEGIN is sent with the body's first statements. If a statement fails and the body returns nevertheless, the
    /// transaction is rolled back and the statement's error is thrown.
    package func transaction<Value>(_ body: (borrowing PostgresTransaction) throws -> Value) throws -> Value {
        try refuseNesting()
        let transaction = PostgresTransaction(link: link, deadline: deadline)
        (link.stage, link.failure) = (.notBegun, nil)
        defer { link.stage = .outside }
        do {
            let value = try body(transaction)
            try transaction.commit()
            return value
        } catch {
            transaction.rollBack()
            throw (error as? PostgresError)?.seen(after: link) ?? error
        }
    }

    /// Runs one unit of work and records its commit, so that later errors are not safe to retry.
    private func unit<Value>(
        _ work: (LibpqConnection, RoundTrip) throws(PostgresError) -> Value
    ) throws(PostgresError) -> Value {
        try refuseNesting()
        do throws(PostgresError) {
            let value = try work(link, RoundTrip(deadline: deadline, canCommit: true))
            link.mayHaveCommitted = true
            return value
        } catch {
            defer { if error.outcome == .unknown { link.mayHaveCommitted = true } }
            throw error.seen(after: link)
        }
    }

    private func refuseNesting() throws(PostgresError) {
        guard link.stage == .outside else {
            throw PostgresError(.misuse, "inside transaction(_:), use the transaction, not the session")
        }
    }
}

extension PostgresError {
    fileprivate func seen(after link: LibpqConnection) -> PostgresError {
        var copy = self
        copy.isSafeToRetry = isSafeToRetry && !link.mayHaveCommitted
        return copy
    }
}

extension SQL {
    // Prepared like queries, because they are frequent.
    fileprivate static let begin = SQL(text: "BEGIN", parameters: [], query: "BEGIN")
    fileprivate static let commit = SQL(text: "COMMIT", parameters: [], query: "COMMIT")
}

enum TransactionStage { case outside, notBegun, open, ended }

/// An explicit transaction, lent to the body of ``PostgresSession/transaction(_:)``.
///
/// Until COMMIT is sent, connection errors are safe to retry, because the server rolls back.
package struct PostgresTransaction: ~Copyable {
    let link: LibpqConnection
    let deadline: Deadline
    package var isDistributed: Bool { link.isDistributed }
    package func execute(_ sql: SQL) throws(PostgresError) -> PostgresResult { try pipeline([sql])[0] }

    package func run(_ query: Query, _ values: QueryValues = [:]) throws(PostgresError) -> PostgresResult {
        try execute(query(values))
    }

    /// - Parameter finishing: sends COMMIT in this round trip; the transaction then accepts no more statements.
    package func pipeline(_ statements: [SQL], finishing: Bool = false) throws(PostgresError) -> [PostgresResult] {
        try guarded { () throws(PostgresError) in
            let opening: [SQL] = link.stage == .notBegun ? [.begin] : []
            if finishing { link.stage = .ended }
            let roundTrip = RoundTrip(deadline: deadline, canCommit: finishing)
            let results = try link.run(opening + statements + (finishing ? [.commit] : []), roundTrip)
            if finishing { link.mayHaveCommitted = true } else { link.stage = .open }
            try checkStage()
            return Array(results.dropFirst(opening.count).prefix(statements.count))
        }
    }

    /// The script must not contain transaction commands.
    package func simple(_ script: String) throws(PostgresError) {
        if link.stage == .notBegun { _ = try pipeline([]) }
        try guarded { () throws(PostgresError) in
            try link.runScript(script, RoundTrip(deadline: deadline, canCommit: false))
            try checkStage()
        }
    }

    func commit() throws(PostgresError) {
        if let failure = link.failure { throw failure }
        guard link.stage == .open else { return }
        _ = try pipeline([], finishing: true)
    }

    /// Runs after the body throws. If it fails, closes the connection, with the same effect.
    func rollBack() {
        guard link.isInTransaction else { return }
        if (try? link.run(["ROLLBACK"], RoundTrip(deadline: deadline, canCommit: false))) == nil { link.close() }
    }

    private func guarded<Value>(_ step: () throws(PostgresError) -> Value) throws(PostgresError) -> Value {
        if let failure = link.failure { throw failure }
        guard link.stage != .ended else { throw PostgresError(.misuse, "the transaction has ended") }
        do throws(PostgresError) {
            return try step()
        } catch {
            if error.outcome == .unknown { link.mayHaveCommitted = true }
            link.failure = error
            throw error
        }
    }

    private func checkStage() throws(PostgresError) {
        guard link.isInTransaction == (link.stage == .open) else {
            link.isUnusable = true
            throw PostgresError(.misuse, "only transaction(_:) may run COMMIT, ROLLBACK and BEGIN")
        }
    }
}
