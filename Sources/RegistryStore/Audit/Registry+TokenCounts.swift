import PostgresDriver

extension Registry {
    /// Remembers how many tokens of each kind every app has now, unless that was done within these five minutes.
    ///
    /// Any instance may do it at any time; where several do it at once, one count is kept.
    ///
    /// - Returns: whether it was due.
    @discardableResult
    public func recordTokenCounts() async throws -> Bool {
        try await write { session in
            guard try session.execute(TokenCountStatements.isDue)[0].decode(Bool.self) else { return false }
            let percents = try StatisticsStatements.percents(
                of: StatisticsStatements.tables,
                sampling: TokenCountStatements.sampleSize(of:),
                session
            )
            _ = try session.pipeline([TokenCountStatements.record(percents: percents), TokenCountStatements.thinOut])
            return true
        }
    }
}
