import Foundation
import PostgresDriver
import RegistryCore

package struct TokenPosition: Sendable, Hashable {
    /// Empty before the first page.
    package let installation: [UInt8]
    /// Empty for kinds that allow one token per installation.
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
    ///   - attributesType: limits start tokens to this type.
    ///   - position: of the previous page's last token.
    package func tokens(
        under alias: Alias,
        _ kind: TokenKind,
        attributesType: AttributesType? = nil,
        after position: TokenPosition = .start,
        limit: Int,
        in scope: Scope
    ) async throws -> [ResolvedToken] {
        let readTokens = Query("resolve.read-tokens")(
            alias.values(in: scope) + [
                "token_kind": kind.name, "attributes_type": attributesType, "installation": position.installation,
                "type": position.type, "limit": limit,
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
