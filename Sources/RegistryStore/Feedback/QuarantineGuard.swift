import Foundation
import PostgresDriver
import RegistryCore
import RegistryRules

/// A burst guard that is on: it blocks further quarantines for now.
package struct QuarantineGuard: Sendable, Hashable {
    package let environment: APNSEnvironment
    package let kind: String
    package let trippedAt: Date
}

extension Scope {
    /// The scope and the names of its kinds of tokens, each of which has a guard.
    var kinds: QueryValues { ["scope": id, "kinds": app.settings.allTokenKinds.map(\.name)] }
}

extension Registry {
    package func quarantineGuards(of app: App) async throws -> [QuarantineGuard] {
        try await read { session in
            try session.run("feedback.list-guards", ["app": app.id, "window": BurstGuard.window]).decode { row in
                QuarantineGuard(
                    environment: try row["environment"],
                    kind: try row["kind"],
                    trippedAt: try row["tripped_at"]
                )
            }
        }
    }
}
