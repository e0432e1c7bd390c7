/// One connection, lent to a synchronous closure that runs on the connection's own thread.
///
/// It can be neither copied nor stored, so it does not outlive the closure, and no transaction can idle across an
/// `await`. Calls block until the server has answered or the caller's deadline passes; then the connection is closed.
///
/// Every method throws ``PostgresError``. Its `isSafeToRetry` applies to the whole closure: it is false after an
/// earlier commit of the closure.
package struct PostgresSession: ~Copyable {
    let link: LibpqConnection
    let deadline: Deadline
    /// Whether the caller's work may be done twice, as reads may.
    var isIdempotent = false
    package var isRenewable: Bool { !link.isInBody && link.isReusable }

    /// The same connection for another unit of work with its own time, as if newly lent: earlier commits do not affect
    /// whether a retry is safe. Only while it is renewable.
    package func renewed(timeout: Duration) -> PostgresSession {
        precondition(!link.isInBody, "a transaction is open")
        link.beginWork()
        return PostgresSession(link: link, deadline: .after(timeout), isIdempotent: isIdempotent)
    }

    /// Whether the server forwards statements to others; see ``noteDistribution()``.
    package var isDistributed: Bool { link.isDistributed }

    /// Marks a server that forwards statements to others: from now on ``pipeline(_:file:line:)`` sends BEGIN and
    /// COMMIT.
    ///
    /// One Postgres takes a round trip for one transaction. Citus requires BEGIN: without it, the node with the rows
    /// would commit each statement separately.
    package func noteDistribution() { link.isDistributed = true }

    /// Runs one statement in its own transaction.
    package func execute(
        _ sql: SQL,
        file: String = #fileID,
        line: Int = #line
    ) throws(PostgresError) -> PostgresResult {
        try pipeline([sql], file: file, line: line)[0]
    }

    /// Runs one query in its own transaction.
    package func run(
        _ query: Query,
        _ values: QueryValues = [:],
        file: String = #fileID,
        line: Int = #line
    ) throws(PostgresError) -> PostgresResult {
        try execute(query(values), file: file, line: line)
    }

    /// Runs statements in one round trip and one transaction: all of them take effect, or none.
    ///
    /// Reads (``RetryPolicy/idempotentRead``) need no transaction, and get none from a distributed server.
    ///
    /// - Returns: one result per statement, read after the server has confirmed the commit.
    /// - Throws: the error of the first failed statement.
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
                throw PostgresError(.misuse, "BEGIN belongs into transaction(_:)", at: roundTrip.site)
            }
            return results
        }
    }

    /// Runs statements between BEGIN and COMMIT, all in one round trip.
    private func block(_ statements: [SQL], at site: CallSite) throws(PostgresError) -> [PostgresResult] {
        do {
            return try transaction(file: site.file, line: site.line) { transaction in
                try transaction.pipeline(statements, finishing: true, file: site.file, line: site.line)
            }
        } catch {
            throw error as? PostgresError ?? PostgresError(.misuse, at: site)
        }
    }

    /// Runs a text of several statements without parameters, for migrations.
    ///
    /// The server runs it as one transaction unless it contains transaction commands of its own; because it may, its
    /// errors are never safe to retry.
    package func simple(
        _ script: String,
        file: String = #fileID,
        line: Int = #line
    ) throws(PostgresError) {
        try unit(at: CallSite(file: file, line: line)) { link, roundTrip throws(PostgresError) in
            // A part of the script may be committed even if the rest fails.
            link.mayHaveCommitted = true
            try link.runScript(script, roundTrip)
        }
    }

    /// Runs the body in an explicit transaction: COMMIT after it returns, ROLLBACK if it throws.
    ///
    /// BEGIN travels with the body's first statements. If a statement fails and the body returns nevertheless, the
    /// transaction is rolled back and that statement's error is thrown.
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

    /// Runs one unit of work and records its commit, so that a later error does not count as safe to retry.
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
            throw PostgresError(.misuse, "inside of transaction(_:) use the transaction, not the session", at: site)
        }
    }
}

extension PostgresError {
    /// The error for the whole closure: a retry would repeat earlier commits.
    fileprivate func seen(after link: LibpqConnection) -> PostgresError {
        var copy = self
        copy.isSafeToRetry = isSafeToRetry && !link.mayHaveCommitted
        return copy
    }
}
