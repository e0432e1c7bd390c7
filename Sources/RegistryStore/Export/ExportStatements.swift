import PostgresDriver
import RegistryCore

/// The statements of an export: pages by immutable keys, each row as it is at that moment.
struct ExportStatements {
    let scope: Scope

    /// Rows that are looked at in one page; few enough for a page of the largest rows to be a few megabytes.
    static let pageSize = 1000

    /// The last number of the next page of activities or of tokens of a kind, how many rows it looks at, and the first and
    /// last number of all.
    func range(of kind: TokenKind, after position: Int64) -> SQL {
        let rows = NumberedRows(kind: kind, scope: scope)
        let all: SQL = "FROM \(unescaped: rows.table) r WHERE \(sql: rows.contains("r"))"
        return """
            SELECT q.last, q.count, (SELECT min(r.\(unescaped: rows.number)) \(sql: all)),
                (SELECT max(r.\(unescaped: rows.number)) \(sql: all))
            FROM (\(sql: rows.range(after: position, size: Self.pageSize))) AS q
            """
    }

    /// The rows of such a page.
    func rows(of kind: TokenKind, after position: Int64, through last: Int64) -> SQL {
        let rows = NumberedRows(kind: kind, scope: scope)
        let page: SQL = """
            (SELECT * FROM \(unescaped: rows.verdicts) its
            WHERE \(sql: scope.contains("its")) AND \(sql: rows.contains("its"))
                AND its.\(unescaped: rows.number) > \(position) AND its.\(unescaped: rows.number) <= \(last) OFFSET 0) AS r
            """
        let selection: SQL =
            kind == .update
            ? "\(ExportedActivity.columns) FROM \(sql: page) \(sql: Self.identity)"
            : "\(TransferRecord.columns(of: kind)) FROM \(sql: page) WHERE r.verdict IS NULL"
        return "SELECT \(sql: selection) ORDER BY r.\(unescaped: rows.number)"
    }

    /// The identity `n` that activity `r` was made for.
    private static let identity: SQL = """
        LEFT JOIN LATERAL (
            SELECT i.alias, i.ended_at FROM jsonb_array_elements_text(r.aliases -> '\(unescaped: Alias.liveActivityKind.string)') AS name
            JOIN alias_identities i ON i.app_number = r.app_number AND i.environment = r.environment
                AND i.alias = name AND i.owner = CASE
                    WHEN r.installation_hash IS NOT NULL THEN 'installation:' || encode(r.installation_hash, 'hex')
                    WHEN r.subject IS NOT NULL THEN 'subject:' || r.subject ELSE 'app' END
            WHERE i.activity_id = r.activity_id LIMIT 1
        ) AS n ON true
        """

    /// A page of installations, by their hashes.
    func installations(after hash: [UInt8]) -> SQL {
        """
        SELECT \(ExportedInstallation.columns)
        FROM installations r WHERE \(sql: scope.contains("r")) AND r.installation_hash > \(hash)
        ORDER BY r.installation_hash LIMIT \(Self.pageSize)
        """
    }

    /// A page of identities, by name and owner, each with its latest end.
    func names(after alias: UTF8Text, _ owner: UTF8Text) -> SQL {
        """
        SELECT r.alias, r.owner, r.ended_at FROM alias_identities r
        WHERE \(sql: scope.contains("r")) AND (r.alias, r.owner) > (\(alias), \(owner))
        ORDER BY r.alias, r.owner LIMIT \(Self.pageSize)
        """
    }
}
