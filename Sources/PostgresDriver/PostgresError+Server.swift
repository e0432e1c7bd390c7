import CLibpq

extension PostgresError {
    /// Reads the server's error report out of a failed result.
    init(report: OpaquePointer, canCommit: Bool, at site: CallSite) {
        let sqlState = Self.field("C", of: report)
        let severity = Self.field("V", of: report)
        let endsConnection = sqlState == nil || severity == "FATAL" || severity == "PANIC"
        self.init(
            endsConnection ? .connectionLost : .server,
            ServerMessage.redacted(Self.field("M", of: report), sqlState: sqlState),
            outcome: endsConnection
                ? (canCommit ? .unknown : .nothingTookEffect)
                : SQLState.outcome(sqlState ?? "", raisedIn: Self.field("R", of: report)),
            sqlState: sqlState,
            severity: severity,
            constraint: Self.field("n", of: report)
                ?? ServerMessage.constraint(Self.field("M", of: report), sqlState: sqlState),
            table: Self.field("t", of: report),
            at: site
        )
    }

    /// A field of a report by its code in the protocol: docs, "Error and Notice Message Fields".
    static func field(_ code: Character, of report: OpaquePointer) -> String? {
        PQresultErrorField(report, Int32(code.asciiValue!)).map { String(cString: $0) }
    }

    /// Whether the connection's prepared statements no longer match the server: only a new connection helps.
    var hasStalePreparedStatements: Bool {
        sqlState == "26000" || (sqlState == "0A000" && outcome == .nothingTookEffect)
    }
}

extension PostgresError {
    /// The error for a connection that was opened, but could not be made ready.
    ///
    /// Nothing of a caller's was sent, so trying again is safe whatever happened. Misuse stays misuse.
    var asConnectFailure: PostgresError {
        guard code != .misuse else { return self }
        return PostgresError(
            .connectionFailed,
            message ?? code.rawValue,
            outcome: .nothingTookEffect,
            sqlState: sqlState,
            severity: severity
        )
    }
}

enum SQLState {
    static let readOnlyTransaction = "25006"
    static let queryCanceled = "57014"

    /// Errors after which the server has rolled back and the same work may succeed when tried again.
    private static let transient: Set<String> = [
        "40001", "40P01",  // serialization failure, deadlock
        readOnlyTransaction,  // the host was demoted; another one may be the primary now
        "55P03",  // lock not available in time
        queryCanceled,  // statement timeout
        "26000",  // the prepared statement is gone, so nothing ran
    ]

    static func outcome(_ sqlState: String, raisedIn function: String?) -> PostgresError.Outcome {
        switch (sqlState, function) {
        // Any unsupported feature; only this function raises "cached plan must not change result type".
        case ("0A000", "RevalidateCachedQuery"): .nothingTookEffect
        // Any failed check; this function's is that a partition for the row came while it waited for the default one.
        case ("23514", "ExecPartitionCheckEmitError"): .nothingTookEffect
        default: transient.contains(sqlState) ? .nothingTookEffect : .final
        }
    }
}

enum ServerMessage {
    /// SQLSTATE classes whose primary messages name objects and states, but quote no row's values.
    private static let classesWithoutValues: Set<Substring> = [
        "08", "0A", "21", "25", "26", "28", "34", "3D", "3F", "40", "42", "53", "54", "55", "57", "58",
    ]

    /// The name of the violated constraint (class 23) as the message quotes it: of what another node says Citus passes on no
    /// more than the text.
    static func constraint(_ message: String?, sqlState: String?) -> String? {
        guard let message, sqlState?.hasPrefix("23") == true else { return nil }
        return message.firstMatch(of: #/constraint "([a-z0-9_]+)"$/#).map { String($0.1) }
    }

    /// The server's primary message where it cannot hold values, else nil.
    static func redacted(_ message: String?, sqlState: String?) -> String? {
        guard let message, let sqlState else { return nil }
        // 42 covers syntax errors and unknown names; 22P02 and its like quote the input and stay out.
        return classesWithoutValues.contains(sqlState.prefix(2)) ? message : nil
    }

    /// libpq's own text with everything between double quotes left out.
    ///
    /// A password with an unescaped `@` or `/` makes libpq quote parts of it as a host or a port.
    static func withoutQuotations(_ message: UnsafePointer<CChar>?) -> String {
        guard let message else { return "out of memory" }
        let parts = String(cString: message).split(separator: "\"", omittingEmptySubsequences: false)
        let kept = parts.enumerated().map { $0.offset.isMultiple(of: 2) ? String($0.element) : "…" }
        return kept.joined(separator: "\"").split(whereSeparator: \.isNewline)
            .map { $0.drop(while: \.isWhitespace) }.joined(separator: "; ")
    }

    /// libpq's words about a connection string that it cannot read, with everything from the first to the last double quote left
    /// out: what it quotes may hold quotes of its own.
    static func ofConnectionString(_ message: UnsafePointer<CChar>?) -> String {
        guard let message else { return "out of memory" }
        let line = String(cString: message).split(whereSeparator: \.isNewline).joined(separator: " ")
        return line.replacing(#/".*"/#, with: "\"…\"")
    }
}
