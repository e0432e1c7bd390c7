import Foundation
import PostgresDriver
import RegistryCore

extension ResolvedToken {
    /// The 32 bytes of the hash, and the attributes type for kinds that have it.
    package var position: ListPosition {
        ListPosition(rest: installation.bytes + Array((attributesType?.string ?? "").utf8))
    }
}

extension Registry {
    /// - Parameters:
    ///   - attributesType: limits start tokens to this type.
    ///   - position: of the previous page's last token.
    package func tokens(
        under alias: Alias,
        _ kind: TokenKind,
        attributesType: AttributesType? = nil,
        after position: ListPosition = .start,
        limit: Int,
        in scope: Scope
    ) async throws -> [ResolvedToken] {
        let readTokens = Query("resolve.read-tokens")(
            alias.values(in: scope) + [
                "token_kind": kind.name, "attributes_type": attributesType,
                "installation": Array(position.rest.prefix(32)),
                "type": String(decoding: position.rest.dropFirst(32), as: UTF8.self), "limit": limit,
            ]
        )
        return try await read { session in
            try session.execute(readTokens).decode { row in
                let type: UTF8Text = try row["attributes_type"]
                return ResolvedToken(
                    kind: kind,
                    token: try row["token"],
                    installation: try row["installation_hash"],
                    attributesType: kind.holder == .attributesType ? type : nil,
                    observedAt: try row["observed_at"],
                    confirmedAt: try row["confirmed_at"]
                )
            }
        }
    }
}
