import Foundation
import PostgresDriver
import RegistryCore

/// The statements that hand out start and device tokens, all through the views that say which may be.
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
        let isStart = kind.holder == .attributesType
        let key = isStart ? "cur.attributes_type" : "cur.kind"
        let filter: SQL =
            isStart
            ? attributesType.map { "cur.attributes_type = \($0.rawValue)" } ?? "true" : "cur.kind = \(kind.name)"
        return """
            SELECT c.token, c.installation_hash, c.key, c.observed_at, c.confirmed_at
            FROM installation_aliases al CROSS JOIN LATERAL (
                SELECT cur.token, cur.installation_hash, \(unescaped: key) AS key, cur.observed_at, cur.confirmed_at
                FROM \(unescaped: isStart ? "current_start_tokens" : "current_device_tokens") cur
                WHERE cur.app_number = al.app_number AND cur.environment = al.environment
                    AND cur.installation_hash = al.installation_hash AND \(sql: filter)
                OFFSET 0
            ) AS c
            WHERE al.app_number = \(scope.app.number) AND al.environment = \(scope.environment.rawValue)::apns_environment
                AND al.kind = \(alias.kind) AND al.value = \(alias.value)
                AND al.installation_hash >= \(position.installation)
                AND (al.installation_hash, c.key) > (\(position.installation), \(position.key))
            ORDER BY al.installation_hash, c.key LIMIT \(limit)
            """
    }
}

extension ResolvedToken {
    /// Reads the columns of ``TokenResolveStatements/page(of:_:attributesType:after:limit:in:)``.
    init(_ row: PostgresRow, kind: TokenKind) throws {
        let (token, installation, key, observedAt, confirmedAt) = try row.decode(
            [UInt8].self,
            [UInt8].self,
            String.self,
            Date.self,
            Date.self
        )
        self.init(
            kind: kind,
            token: PushToken(bytes: token),
            installation: InstallationHash(bytes: installation),
            attributesType: kind.holder == .attributesType ? key : nil,
            observedAt: observedAt,
            confirmedAt: confirmedAt
        )
    }
}
