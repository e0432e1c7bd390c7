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
    package var isRenewable: Bool { !link.isInBody && link.isReusable }

    /// The connection for another unit of work with its own deadline, as if newly lent: earlier commits do not affect
    /// whether a retry is safe. Requires `isRenewable`.
    package func renewed(timeout: Duration) -> PostgresSession {
        precondition(!link.isInBody, "a transaction is open")
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
        } catch {
            throw error as? PostgresError ?? PostgresError(.misuse)
        }
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
    /// - Throws: the body's error, or ``PostgresError`` from BEGIN and COMMIT.
    package func transaction<Value>(_ body: (borrowing PostgresTransaction) throws -> Value) throws -> Value {
        try refuseNesting()
        let transaction = PostgresTransaction(link: link, deadline: deadline)
        link.isInBody = true
        defer { link.isInBody = false }
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
        guard !link.isInBody else {
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
