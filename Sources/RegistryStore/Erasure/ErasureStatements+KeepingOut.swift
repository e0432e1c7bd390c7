import Foundation
import PostgresDriver
import RegistryCore

extension ErasureStatements {
    /// Whether any of the names was erased after the observation, however long ago: an installation's aliases and
    /// tokens have no lifetime. A request without a time is later than all erasures. The row of the app is called
    /// `app`. `IS TRUE` keeps each digest a lookup of its own: joined, all erasures of the app would be read.
    static func isErased(_ names: [UTF8Text], observedAt: Date?, in scope: Scope) -> SQL {
        let digests: SQL = "ARRAY(SELECT \(unescaped: digest("named.name")) FROM unnest(\(names)) AS named (name))"
        return """
            (EXISTS (
                SELECT FROM erasures erased
                WHERE \(sql: scope.contains("erased")) AND erased.erased_digest = ANY(\(sql: digests))
                    AND erased.erased_at >= coalesce(\(observedAt), now())
            )) IS TRUE
            """
    }
}
