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

    /// Marks a server that forwards statements: ``pipeline(_:file:line:)`` then sends BEGIN and COMMIT.
    ///
    /// Plain Postgres runs a round trip as one transaction. Without BEGIN, a Citus worker commits each statement
    /// separately.
    package func noteDistribution() { link.isDistributed = true }

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

    /// Runs statements in one round trip and one transaction.
    ///
    /// Reads (``RetryPolicy/idempotentRead``) on a distributed server get no transaction, because they need none.
    ///
    /// - Returns: one result per statement, after the server has confirmed the commit.
    package func pipeline(
        _ statements: [SQL],
        file: String = #fileID,
        line: Int = #line
    ) throws(PostgresError) -> [PostgresResult] {
        guard statements.count < 2 || isIdempotent || !link.isDistributed else {
            return try block(statements, at: CallSite(file: file, line: line))
        }
        return try unit(at: CallSite(file: file, line: line)) { link, roundTrip throws(PostgresError) in
            let results = try link.run(statements, roundTrip)
            guard !link.isInTransaction else {
                link.markUnusable()
                throw PostgresError(.misuse, "only transaction(_:) may run BEGIN", at: roundTrip.site)
            }
            return results
        }
    }

    private func block(_ statements: [SQL], at site: CallSite) throws(PostgresError) -> [PostgresResult] {
        do {
            return try transaction(file: site.file, line: site.line) { transaction in
                try transaction.pipeline(statements, finishing: true, file: site.file, line: site.line)
            }
        } catch {
            throw error as? PostgresError ?? PostgresError(.misuse, at: site)
        }
    }

    /// Runs several statements without parameters, for migrations.
    ///
    /// The server runs them as one transaction unless the script contains transaction commands. Its errors are
    /// therefore never safe to retry.
    package func simple(
        _ script: String,
        file: String = #fileID,
        line: Int = #line
    ) throws(PostgresError) {
        try unit(at: CallSite(file: file, line: line)) { link, roundTrip throws(PostgresError) in
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
    package func transaction<Value>(
        file: String = #fileID,
        line: Int = #line,
        _ body: (borrowing PostgresTransaction) throws -> Value
    ) throws -> Value {
        let site = CallSite(file: file, line: line)
        try refuseNesting(at: site)
        let progress = TransactionProgress()
        let transaction = PostgresTransaction(link: link, deadline: deadline, progress: progress)
        link.isInBody = true
        defer { link.isInBody = false }
        do {
            let value = try body(transaction)
            try transaction.commit(at: site)
            return value
        } catch {
            transaction.rollBack()
            throw (error as? PostgresError)?.seen(after: link) ?? error
        }
    }

    /// Runs one unit of work and records its commit, so that later errors are not safe to retry.
    private func unit<Value>(
        at site: CallSite,
        _ work: (LibpqConnection, RoundTrip) throws(PostgresError) -> Value
    ) throws(PostgresError) -> Value {
        try refuseNesting(at: site)
        do throws(PostgresError) {
            let value = try work(link, RoundTrip(deadline: deadline, canCommit: true, site: site))
            link.mayHaveCommitted = true
            return value
        } catch {
            defer { if error.outcome == .unknown { link.mayHaveCommitted = true } }
            throw error.located(at: site).seen(after: link)
        }
    }

    private func refuseNesting(at site: CallSite) throws(PostgresError) {
        guard !link.isInBody else {
            throw PostgresError(.misuse, "inside transaction(_:), use the transaction, not the session", at: site)
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
