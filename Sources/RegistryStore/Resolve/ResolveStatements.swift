import Foundation
import PostgresDriver
import RegistryCore

/// The statements that hand out tokens. All of them read the view `current_activities`, the one place that says which
/// tokens may be handed out.
enum ResolveStatements {
    /// The columns that ``ResolvedActivity/init(_:)`` reads, in its order, of the view's row called `cur`.
    private static let columns = """
        cur.activity_number, cur.activity_id, cur.token, cur.installation_hash, cur.attributes_type,
        cur.frequent_pushes_enabled, cur.started_at, cur.token_observed_at, cur.confirmed_at, cur.expires_at, cur.revision,
        cur.starts_at
        """

    /// The activity of an alias's row. The limit keeps the planner from joining all of a crowd before it takes the
    /// first page: rows are read in the order of the alias's index, and each is looked up by its number.
    private static let current = """
        (SELECT \(columns) FROM current_activities cur
        WHERE cur.app_number = al.app_number AND cur.activity_number = al.activity_number
            AND cur.activity_number > 0 LIMIT 1) AS c
        """

    /// One page of an alias, in the order of the immutable number.
    static func page(of alias: Alias, after number: Int64, limit: Int, in scope: Scope) -> SQL {
        """
        SELECT c.* FROM activity_aliases al CROSS JOIN LATERAL \(unescaped: current)
        WHERE \(sql: isRow(of: alias, in: scope)) AND al.activity_number > \(number)
        ORDER BY al.activity_number LIMIT \(limit)
        """
    }

    /// The activities of an alias's rows up to a number, in the order of the immutable number.
    static func range(of alias: Alias, after number: Int64, through last: Int64, in scope: Scope) -> SQL {
        """
        SELECT c.* FROM activity_aliases al CROSS JOIN LATERAL \(unescaped: current)
        WHERE \(sql: isRow(of: alias, in: scope)) AND al.activity_number > \(number) AND al.activity_number <= \(last)
        ORDER BY al.activity_number
        """
    }

    /// The same where most activities between the two numbers are the alias's: all of them are read in their order, and
    /// those that are not are left out. `IS TRUE` keeps the alias's rows a hashed set, which is asked about each row.
    static func denseRange(of alias: Alias, after number: Int64, through last: Int64, in scope: Scope) -> SQL {
        """
        SELECT \(unescaped: columns) FROM current_activities cur
        WHERE cur.app_number = \(scope.app.number) AND cur.activity_number > 0
            AND cur.activity_number > \(number) AND cur.activity_number <= \(last)
            AND (cur.activity_number IN (
                SELECT al.activity_number FROM activity_aliases al
                WHERE \(sql: isRow(of: alias, in: scope))
                    AND al.activity_number > \(number) AND al.activity_number <= \(last)
            )) IS TRUE
        ORDER BY cur.activity_number
        """
    }

    /// The number of the alias's row that is so many after a number; none when there are fewer.
    static func number(of alias: Alias, after number: Int64, count: Int, in scope: Scope) -> SQL {
        """
        SELECT al.activity_number FROM activity_aliases al
        WHERE \(sql: isRow(of: alias, in: scope)) AND al.activity_number > \(number)
        ORDER BY al.activity_number LIMIT 1 OFFSET \(count - 1)
        """
    }

    /// Row `al` is one of the alias that resolve reads.
    private static func isRow(of alias: Alias, in scope: Scope) -> SQL {
        """
        \(sql: scope.contains("al"))
            AND al.kind = \(alias.kind) AND al.value = \(alias.value) AND NOT al.ended
        """
    }

    /// The first activities of many aliases; each row begins with the alias's position in the request. In no order: to sort
    /// such wide rows costs more than to put a few numbers in order afterwards. But those of one alias come before those of
    /// the next, for what is joined laterally is looked up alias by alias; so the limit of all leaves out the last aliases.
    static func resolve(_ aliases: [Alias], limitPerAlias: Int, limit: Int, in scope: Scope) -> SQL {
        """
        SELECT q.position, c.*
        FROM unnest(\(aliases.map(\.kind)), \(aliases.map(\.value))) WITH ORDINALITY AS q (kind, value, position)
        CROSS JOIN LATERAL (
            SELECT c.* FROM activity_aliases al CROSS JOIN LATERAL \(unescaped: current)
            WHERE \(sql: scope.contains("al"))
                AND al.kind = q.kind AND al.value = q.value AND NOT al.ended
            ORDER BY al.activity_number LIMIT \(limitPerAlias)
        ) AS c
        LIMIT \(limit)
        """
    }

    /// One activity, running or not; the token only while it is handed out.
    static func activity(_ id: ActivityID, in scope: Scope) -> SQL {
        """
        SELECT a.activity_id, \(unescaped: ActivityAnswer.columns(of: "a")), CASE WHEN a.verdict IS NULL THEN a.token END,
            nullif(a.verdict, 'no-token'), a.installation_hash, a.attributes_type, a.frequent_pushes_enabled, a.started_at,
            a.starts_at
        FROM (
            SELECT * FROM activity_verdicts its
            WHERE \(sql: scope.contains("its")) AND its.activity_id = \(id.rawValue) LIMIT 1
        ) AS a
        """
    }
}

extension ResolvedActivity {
    /// Reads the columns of ``ResolveStatements/columns`` from `first` on.
    init(_ row: PostgresRow, from first: Int = 0) throws {
        self.init(
            number: try row.column(first, as: Int64.self),
            activityID: try row.column(first + 1, as: ActivityID.self),
            token: PushToken(bytes: try row.column(first + 2, as: [UInt8].self)),
            startedAt: try row.column(first + 6, as: Date.self),
            observedAt: try row.column(first + 7, as: Date.self),
            confirmedAt: try row.column(first + 8, as: Date.self),
            expiresAt: try row.column(first + 9, as: Date.self),
            revision: try row.column(first + 10, as: Int.self)
        )
        installation = try row.column(first + 3, as: [UInt8]?.self).map(InstallationHash.init(bytes:))
        attributesType = try row.column(first + 4, as: UTF8Text?.self)
        frequentPushesEnabled = try row.column(first + 5, as: Bool?.self)
        startsAt = try row.column(first + 11, as: Date?.self)
    }
}

extension ActivityRecord {
    init(_ row: PostgresRow) throws {
        var answer = try ActivityAnswer(id: row.column(0, as: ActivityID.self), row, from: 1)
        let token = try row.column(8, as: [UInt8]?.self)
        if answer.state == .active { answer.reason = try row.column(9, as: String?.self) }
        self.init(answer: answer, startedAt: try row.column(13, as: Date.self))
        self.token = token.map(PushToken.init(bytes:))
        installation = try row.column(10, as: [UInt8]?.self).map(InstallationHash.init(bytes:))
        attributesType = try row.column(11, as: UTF8Text?.self)
        frequentPushesEnabled = try row.column(12, as: Bool?.self)
        startsAt = try row.column(14, as: Date?.self)
    }
}
