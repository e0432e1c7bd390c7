import Foundation
import PostgresDriver
import RegistryCore

extension Registry {
    /// Between pages no lock is held, so an export may take long; a row written meanwhile is read before or after,
    /// never half.
    ///
    /// Withheld data is left out: expired and dismissed activities, deleted tokens, and values that are dead,
    /// quarantined or another's.
    package func exportPage(from position: ExportPosition, in scope: Scope) async throws -> ExportPage {
        let statements = ExportStatements(scope: scope)
        return try await read { session in
            switch position.part {
            case .installations: try Self.installations(position, statements, session)
            case .names: try Self.names(position, statements, session)
            case .activities, .tokens: try Self.numbered(position, statements, session)
            }
        }
    }

    private static func numbered(
        _ position: ExportPosition,
        _ statements: ExportStatements,
        _ session: borrowing PostgresSession
    ) throws -> ExportPage {
        let kinds = position.part.kinds
        let index = kinds.firstIndex { UTF8Text($0.name) == position.after.first } ?? 0
        let (kind, start) = (kinds[index], position.after.last.flatMap { Int64($0.string) } ?? 0)
        let (end, count, first, last) = try session.execute(statements.range(of: kind, after: start))[0]
            .decode(Int64?.self, Int.self, Int64?.self, Int64?.self)
        let page = statements.rows(of: kind, after: start, through: end ?? start)
        let found = try session.execute(page)
        let records =
            kind == .update
            ? try found.decode(ExportedActivity.columns).flatMap(\.records)
            : try found.decode(TransferRecord.columns(of: kind))
        let isLast = count < ExportStatements.pageSize
        let next = isLast ? kinds.dropFirst(index + 1).first : kind
        let key = next.map { [UTF8Text($0.name), "\(isLast ? 0 : end ?? start)"] }
        let share: Double =
            if let end, let first, let last { Double(end - first + 1) / Double(last - first + 1) } else { 1 }
        return self.page(
            records,
            after: ExportPosition(part: position.part, after: key ?? []),
            isLast: next == nil,
            progress: (Double(index) + share) / Double(kinds.count)
        )
    }

    private static func installations(
        _ position: ExportPosition,
        _ statements: ExportStatements,
        _ session: borrowing PostgresSession
    ) throws -> ExportPage {
        let last = position.after.first.flatMap { Hexadecimal.decode($0.string) } ?? []
        let rows = try session.execute(statements.installations(after: last)).decode(ExportedInstallation.columns)
        guard let end = rows.last?.hash else { return page([], after: position, isLast: true, progress: 1) }
        return page(
            rows.flatMap(\.records),
            after: ExportPosition(part: .installations, after: ["\(end)"]),
            isLast: rows.count < ExportStatements.pageSize,
            progress: Double(end.bytes.first ?? 0) / 256
        )
    }

    private static func names(
        _ position: ExportPosition,
        _ statements: ExportStatements,
        _ session: borrowing PostgresSession
    ) throws -> ExportPage {
        let (alias, owner) = (position.after.first ?? "", position.after.last ?? "")
        let rows = try session.execute(statements.names(after: alias, owner))
            .decode(UTF8Text.self, UTF8Text.self, Date?.self)
        guard let end = rows.last else { return page([], after: position, isLast: true, progress: 1) }
        let records = try rows.compactMap { alias, owner, endedAt in
            try endedAt.map { TransferRecord.namedEnd(alias, try ActivityOwner(stored: owner), at: $0) }
        }
        return page(
            records,
            after: ExportPosition(part: .names, after: [end.0, end.1]),
            isLast: rows.count < ExportStatements.pageSize,
            progress: nil
        )
    }

    private static func page(
        _ records: [TransferRecord],
        after position: ExportPosition,
        isLast: Bool,
        progress: Double?
    ) -> ExportPage {
        let next = isLast ? position.part.next.map { ExportPosition(part: $0, after: []) } : position
        return ExportPage(records: records, next: next, progress: progress)
    }
}

struct ExportStatements {
    let scope: Scope

    /// Low enough that a page of the largest rows is a few megabytes.
    static let pageSize = 1000

    /// The last number of the next page, the number of rows it reads, and the first and last number of all.
    func range(of kind: TokenKind, after position: Int64) -> SQL {
        let rows = NumberedRows(kind: kind, scope: scope)
        let all: SQL = "FROM \(unescaped: rows.table) r WHERE \(sql: rows.contains("r"))"
        return """
            SELECT q.last, q.count, (SELECT min(r.\(unescaped: rows.number)) \(sql: all)),
                (SELECT max(r.\(unescaped: rows.number)) \(sql: all))
            FROM (\(sql: rows.range(after: position, size: Self.pageSize))) AS q
            """
    }

    func rows(of kind: TokenKind, after position: Int64, through last: Int64) -> SQL {
        let rows = NumberedRows(kind: kind, scope: scope)
        let page: SQL = """
            (SELECT * FROM \(unescaped: kind == .update ? "explained_activities" : "deliverable_installation_tokens") its
            WHERE \(sql: scope.contains("its")) AND \(sql: rows.contains("its"))
                AND its.\(unescaped: rows.number) > \(position) AND its.\(unescaped: rows.number) <= \(last) OFFSET 0) AS r
            """
        let selection: SQL =
            kind == .update
            ? "\(ExportedActivity.columns) FROM \(sql: page) \(sql: identity)"
            : "\(TransferRecord.columns(of: kind)) FROM \(sql: page)"
        return "SELECT \(sql: selection) ORDER BY r.\(unescaped: rows.number)"
    }

    private var identity: SQL {
        """
        LEFT JOIN LATERAL (
            SELECT i.alias, i.ended_at FROM jsonb_array_elements_text(r.aliases -> '\(unescaped: Alias.liveActivityKind.string)') AS name
            JOIN alias_identities i ON \(sql: scope.contains("i"))
                AND i.alias = name AND i.owner = CASE
                    WHEN r.installation_hash IS NOT NULL THEN 'installation:' || encode(r.installation_hash, 'hex')
                    WHEN r.subject IS NOT NULL THEN 'subject:' || r.subject ELSE 'app' END
            WHERE i.activity_id = r.activity_id LIMIT 1
        ) AS n ON true
        """
    }

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
