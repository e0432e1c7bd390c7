import Foundation
import PostgresDriver
import RegistryCore

extension Registry {
    /// Registers a token for an activity that is known only by its `liveactivityId` and owner.
    ///
    /// - Parameter claimant: a client's owner is its own installation or subject.
    /// - Throws: `superseded`, `activityEnded`, `activityExpired`, `clockSkew`, `invalidRequest` for too many aliases,
    ///   `notYours` for an activity of another user of this installation.
    package func register(
        _ registration: ActivityRegistration,
        alias: UTF8Text,
        owner: ActivityOwner,
        in scope: Scope,
        by who: UTF8Text,
        claimant: Claimant = .any
    ) async throws -> RegistrationAnswer {
        let statements = AliasIdentityStatements(alias: alias, owner: owner, scope: scope)
        let named = try registration.named(alias, owner)
        let result = try await write { session in
            try session.transaction { transaction in
                let identity = try AliasIdentity(
                    statements,
                    token: named.token,
                    observedAt: named.observedAt,
                    startsAt: named.startsAt,
                    transaction
                )
                let division = AliasDivision(
                    identity: identity,
                    statements: statements,
                    scope: scope,
                    who: who,
                    claimant: claimant
                )
                return try division.register(named, transaction)
            }
        }
        return try result.get()
    }

    /// Ends the activity under (liveactivityId, owner), and leaves a tombstone even if none runs.
    ///
    /// - Parameter claimant: a client's owner is its own installation or subject.
    /// - Throws: `clockSkew`, `notYours` for an activity of another user of this installation.
    package func end(
        alias: UTF8Text,
        owner: ActivityOwner,
        reason: EndReason,
        observedAt: Date?,
        in scope: Scope,
        by who: UTF8Text,
        claimant: Claimant = .any
    ) async throws {
        let statements = AliasIdentityStatements(alias: alias, owner: owner, scope: scope)
        do {
            try await write { session in
                try session.transaction { transaction in
                    let identity = try AliasIdentity(statements, token: nil, observedAt: observedAt, transaction)
                    let division = AliasDivision(
                        identity: identity,
                        statements: statements,
                        scope: scope,
                        who: who,
                        claimant: claimant
                    )
                    try division.end(reason: reason, observedAt: observedAt, transaction)
                }
            }
        } catch let problem as Problem where problem.isOfErased {
            // An erased activity is over already.
        }
    }
}

extension ActivityRegistration {
    /// The registration with the alias and owner that its identity is made of.
    ///
    /// - Throws: `invalidRequest`.
    fileprivate func named(_ alias: UTF8Text, _ owner: ActivityOwner) throws(Problem) -> ActivityRegistration {
        var named = self
        if case .installation(let hash) = owner { named.installation = hash }
        if case .subject(let subject) = owner { named.subject = subject }
        do throws(JSONFaultReason) {
            let name = Alias(checkedKind: Alias.liveActivityKind, value: alias)
            if let aliases { named.aliases = try AliasSet(aliases.aliases + [name]) }
        } catch {
            var problem = Problem(.invalidRequest, "The aliases, liveactivityId included, are not valid.")
            problem.errors = [JSONFault(pointer: "/aliases", detail: error.detail)]
            throw problem
        }
        return named
    }
}
