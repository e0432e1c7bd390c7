import Foundation
import PostgresDriver
import RegistryCore

/// Something that is known of an activity, by which an index finds it.
public enum ActivitySearch: Sendable, Hashable {
    case id(UTF8Text)
    /// Of any kind where none is given.
    case alias(kind: UTF8Text?, value: UTF8Text)
    /// The first bytes of the SHA-256 of its token: at least one byte.
    case fingerprint([UInt8])
    /// The first bytes of the hash of its installation; finds activities that have not ended.
    case installation([UInt8])
    /// Activities that are neither ended nor expired, the latest first.
    case running
    /// Activities that have ended or expired, the latest first.
    case over
}

extension Registry {
    /// Activities that any of some searches finds, each with why it is handed out or not.
    ///
    /// - Parameter limit: how many each search looks at.
    public func findActivities(
        _ searches: [ActivitySearch],
        limit: Int,
        in scope: Scope
    ) async throws -> [AliasExplanation.Activity] {
        let statements = SearchStatements(scope: scope, limit: limit)
        return try await read { session in
            var known: Set<Int64> = []
            return try session.pipeline(searches.map(statements.activities)).flatMap { result in
                try result.decode(AliasExplanation.Activity.columns)
            }.filter { known.insert($0.number).inserted }
        }
    }

    /// Installations whose hash begins with some bytes, or that hold a start or device token whose SHA-256 does.
    public func findInstallations(
        beginningWith prefix: [UInt8],
        limit: Int,
        in scope: Scope
    ) async throws -> [InstallationHash] {
        try await findInstallations(SearchStatements(scope: scope, limit: limit).installations(prefix))
    }

    /// Installations whose start and device tokens are found under an alias.
    public func findInstallations(under alias: Alias, limit: Int, in scope: Scope) async throws -> [InstallationHash] {
        let statements = SearchStatements(scope: scope, limit: limit)
        return try await findInstallations(statements.installations(under: alias))
    }

    private func findInstallations(_ statement: SQL) async throws -> [InstallationHash] {
        try await read { session in
            try session.execute(statement).decode(InstallationHash.self)
        }
    }
}
