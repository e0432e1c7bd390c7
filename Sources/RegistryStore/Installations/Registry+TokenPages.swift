import Foundation
import PostgresDriver
import RegistryCore

package struct TokenPosition: Sendable, Hashable {
    /// Empty before the first page.
    package let installation: [UInt8]
    /// Empty for kinds of which an installation has one token.
    package let type: UTF8Text

    package init(installation: [UInt8], type: UTF8Text) {
        self.installation = installation
        self.type = type
    }

    package static let start = TokenPosition(installation: [], type: "")
}

extension ResolvedToken {
    package var position: TokenPosition {
        TokenPosition(installation: installation.bytes, type: attributesType ?? "")
    }
}

extension Registry {
    /// - Parameters:
    ///   - attributesType: only start tokens of this type.
    ///   - position: of the last token of the previous page.
    package func tokens(
        under alias: Alias,
        _ kind: TokenKind,
        attributesType: AttributesType? = nil,
        after position: TokenPosition = .start,
        limit: Int,
        in scope: Scope
    ) async throws -> [ResolvedToken] {
        let statement = TokenResolveStatements.page(
            of: alias,
            kind,
            attributesType: attributesType,
            after: position,
            limit: limit,
            in: scope
        )
        return try await read { try $0.execute(statement).decode(ResolvedToken.columns(of: kind)) }
    }
}

/// All read the view that decides which tokens may be handed out.
enum TokenResolveStatements {
    /// One page of an alias, in the order of (installation's hash, attributes type), neither of which ever changes.
    ///
    /// This is the order of the alias's index, so the cost of a page does not depend on the size of the crowd; by the
    /// tokens' own numbers, each page would sort the whole crowd. `OFFSET 0` keeps the planner from joining the crowd
    /// before it takes the page.
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
                FROM deliverable_installation_tokens cur
                WHERE \(sql: scope.contains("cur"))
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
