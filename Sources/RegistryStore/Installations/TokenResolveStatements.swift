import Foundation
import PostgresDriver
import RegistryCore

/// The statements that hand out tokens of installations, all through the view that says which may be.
enum TokenResolveStatements {
    /// One page of an alias, in the order of (installation's hash, attributes type), neither of which ever changes.
    ///
    /// The rows of an alias stand in that order in their index, so a page costs what it holds, however many follow the
    /// alias; by the tokens' own numbers all of a crowd would have to be sorted for each page. `OFFSET 0` keeps the
    /// planner from joining the crowd before it takes the page.
    static func page(
        of alias: Alias,
        _ kind: TokenKind,
        attributesType: AttributesType?,
        after position: TokenPosition,
        limit: Int,
        in scope: Scope
    ) -> SQL {
        let filter: SQL = attributesType.map { "cur.attributes_type = \($0.rawValue)" } ?? "true"
        return """
            SELECT c.* FROM installation_aliases al CROSS JOIN LATERAL (
                SELECT \(ResolvedToken.columns(of: kind))
                FROM current_installation_tokens cur
                WHERE cur.app_number = al.app_number AND cur.environment = al.environment
                    AND cur.installation_hash = al.installation_hash AND cur.kind = \(kind.name) AND \(sql: filter)
                OFFSET 0
            ) AS c
            WHERE \(sql: scope.contains("al"))
                AND al.kind = \(alias.kind) AND al.value = \(alias.value)
                AND al.installation_hash >= \(position.installation)
                AND (al.installation_hash, c.attributes_type) > (\(position.installation), \(position.type))
            ORDER BY al.installation_hash, c.attributes_type LIMIT \(limit)
            """
    }
}

extension ResolvedToken {
    /// The columns of the row called `cur` of the view `current_installation_tokens`.
    static func columns(of kind: TokenKind) -> Columns<ResolvedToken> {
        Columns(
            .constant(kind),
            .one("cur.token"),
            .one("cur.installation_hash"),
            Columns(.one("cur.attributes_type"), as: { kind.holder == .attributesType ? $0 : nil }),
            .one("cur.observed_at"),
            .one("cur.confirmed_at"),
            as: ResolvedToken.init
        )
    }
}
