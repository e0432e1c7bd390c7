import Foundation
import PostgresDriver
import RegistryCore

/// Where a page of an explanation ended.
public struct ExplainPosition: Sendable, Hashable {
    /// Activities that are over come after the others.
    public let isClosed: Bool
    /// The internal number of the page's last activity; 0 before the first page.
    public let number: Int64

    /// Makes a position of its two parts.
    public init(isClosed: Bool, number: Int64) {
        self.isClosed = isClosed
        self.number = number
    }

    /// Before the first page.
    public static let start = ExplainPosition(isClosed: false, number: 0)
}

extension Registry {
    /// How many of an alias's installations are explained with their tokens.
    private static let explainedInstallations = 50

    /// One page of what bears an alias, with why each is handed out or not. Notes and the tokens of installations are
    /// on the first page.
    public func explain(
        _ alias: Alias,
        after position: ExplainPosition = .start,
        limit: Int,
        in scope: Scope
    ) async throws -> AliasExplanation {
        let statements = ExplainStatements(alias: alias, scope: scope)
        let isFirst = position == .start
        return try await read { session in
            let page = statements.activities(after: position, limit: limit)
            let rest = [statements.tokens(installations: Self.explainedInstallations), statements.notes]
            let results = try session.pipeline([page] + (isFirst ? rest : []))
            var explanation = AliasExplanation(alias: alias)
            explanation.activities = try results[0].decode(AliasExplanation.Activity.columns)
            guard isFirst else { return explanation }
            explanation.tokens = try results[1].decode(AliasExplanation.Token.columns)
            explanation.notes = try Self.notes(results[2][0], scope.environment)
            return explanation
        }
    }

    /// The start and device tokens of an installation, with why each is handed out or not.
    public func explainTokens(
        of installation: InstallationHash,
        in scope: Scope
    ) async throws -> [AliasExplanation.Token] {
        let statement = ExplainStatements.tokens(of: installation, in: scope)
        return try await read { try $0.execute(statement).decode(AliasExplanation.Token.columns) }
    }

    private static func notes(
        _ row: PostgresRow,
        _ environment: APNSEnvironment
    ) throws -> [AliasExplanation.Note] {
        let (erasedAt, isKnown, isKnownElsewhere) = try row.decode(Date?.self, Bool.self, Bool.self)
        var notes: [AliasExplanation.Note] = erasedAt.map { [.erased($0)] } ?? []
        if !isKnown { notes.append(isKnownElsewhere ? .knownElsewhere(environment.other) : .unknown) }
        return notes
    }
}
