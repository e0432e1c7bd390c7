import Foundation
import PostgresDriver
import RegistryCore

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

/// A deliverable token of an installation.
package struct ResolvedToken: Sendable, Hashable {
    package let kind: TokenKind
    package let token: PushToken
    package let installation: InstallationHash
    package let attributesType: UTF8Text?
    package let observedAt: Date
    package let confirmedAt: Date

    /// The 32 bytes of the hash, and the attributes type for kinds that have it.
    package var position: ListPosition {
        ListPosition(rest: installation.bytes + Array((attributesType?.string ?? "").utf8))
    }

    package func encode(to json: inout JSONWriter, in app: BundleID, with metadata: FoundMetadata?) {
        json.object { json in
            json.hex("token", token.bytes)
            json.hex("installation", installation.bytes)
            json.member("attributesType", ifPresent: attributesType)
            json.member("observedAt", observedAt)
            json.member("confirmedAt", confirmedAt)
            json.member("topic", kind.topic(of: app))
            json.member("pushType", kind.pushType)
            metadata?.write(installation, to: &json)
        }
    }
}
