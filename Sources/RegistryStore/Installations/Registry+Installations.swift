import Foundation
import PostgresDriver
import RegistryCore
import RegistryRules

extension Registry {
    /// Stores the profile by which an installation's tokens are found (R6). A signed-in user takes the installation
    /// over.
    ///
    /// - Parameter claimant: a client names this same installation.
    /// - Throws: `superseded` if the installation logged out or another user registered it since, `clockSkew`.
    package func put(
        _ profile: InstallationProfile,
        for installation: InstallationHash,
        in scope: Scope,
        by who: UTF8Text,
        claimant: Claimant = .any
    ) async throws -> InstallationAnswer {
        let statements = InstallationStatements(installation: installation, scope: scope, claimant: claimant)
        return try await write { session in
            let (observedAt, aliases) = (profile.observedAt, profile.aliases?.aliases ?? [])
            let lock = statements.lock(observedAt: observedAt, aliases: aliases, registers: true)
            let takeover = statements.takeover(by: who)
            let results = try session.pipeline(
                [lock] + takeover + [statements.merge(profile)] + statements.aliasRows
                    + [statements.changeEvent(by: who)]
            )
            guard let merged = try results[takeover.count + 1].decode(MergedProfile.columns).first else {
                let facts = statements.refusalFacts(observedAt: observedAt, aliases: aliases, registers: true)
                throw try Refusal(of: observedAt, session.execute(facts)[0]).problem
            }
            return try Self.answer(merged, to: installation, isNew: results[0][0].decode(Bool.self))
        }
    }

    private static func answer(
        _ merged: MergedProfile,
        to installation: InstallationHash,
        isNew: Bool
    ) throws -> InstallationAnswer {
        let isRemoved = merged.removedAt.map { merged.givenAt <= $0 } ?? false
        if isRemoved || merged.isOfAnother {
            let what = isRemoved ? "The installation logged out" : "Another user registered the installation"
            var problem = Problem(.superseded, "\(what) since. Say what holds now, with its time.")
            problem.serverTime = merged.serverTime
            throw problem
        }
        var answer = InstallationAnswer(installation: installation, isNew: isNew, observedAt: merged.givenAt)
        answer.aliasesObservedAt = merged.aliasesObservedAt
        answer.metadataObservedAt = merged.metadataObservedAt
        return answer
    }

    package func installation(_ installation: InstallationHash, in scope: Scope) async throws -> InstallationRecord? {
        let statements = InstallationStatements(installation: installation, scope: scope)
        return try await read { session in
            let results = try session.pipeline([statements.record, statements.tokens])
            var record = try results[0].decode(InstallationRecord.columns).first
            record?.tokens = try results[1].decode(InstallationRecord.Token.columns)
            return record
        }
    }
}

/// The statements about an installation's own row and its aliases.
struct InstallationStatements {
    let installation: InstallationHash
    let scope: Scope
    var claimant: Claimant = .any
    /// Marks the locked row. Random, so that no other request has it.
    let requestNumber = Int64.random(in: .min ... .max)

    /// Creates the installation's row or locks it: the first step of all writers of an installation, so that a log-out
    /// sees all earlier writes, and later writes see the log-out. Always writes (R1), unless the request is refused for
    /// its time, its claimant or an erasure: then it writes and returns nothing, and neither does any statement with
    /// ``isLocked``.
    ///
    /// - Parameters:
    ///   - aliases: those of the request besides the installation.
    ///   - registers: whether a signed-in user takes another's installation over; otherwise they are refused.
    func lock(observedAt: Date?, aliases: [Alias] = [], registers: Bool = false) -> SQL {
        """
        INSERT INTO installations AS stored (
            scope_id, installation_hash, request_number, request_observed_at, subject, subject_observed_at
        )
        SELECT \(scope.id), \(installation.bytes), \(requestNumber), \(observedAt), \(claimant.subject),
            CASE WHEN \(registers && claimant.subject != nil) THEN coalesce(\(observedAt), clock_timestamp()) END
        FROM apps app
        WHERE app.app_id = \(scope.app.id) AND coalesce(\(observedAt) <= now() + interval '5 minutes', true)
            AND NOT \(sql: isErased(observedAt, aliases))
        ON CONFLICT (scope_id, installation_hash) DO UPDATE SET
            touched_at = excluded.touched_at, request_number = excluded.request_number,
            request_observed_at = excluded.request_observed_at,
            \(sql: registers ? InstallationOwner.registering : Self.owner)
        RETURNING stored.xmax = 0
        """
    }

    private static let owner: SQL =
        "\(sql: InstallationOwner.adopting) WHERE \(sql: InstallationOwner.permitsRequest)"

    /// The row is locked by this request. Every statement of a pipeline checks it: after a refused lock, they would
    /// read the effect of an earlier request.
    var isLocked: SQL {
        "EXISTS (SELECT FROM installations held WHERE \(sql: isOf("held")) AND held.request_number = \(requestNumber))"
    }

    /// The request names erased data, which does not come back (the row of the app is called `app`).
    private func isErased(_ observedAt: Date?, _ aliases: [Alias]) -> SQL {
        let names =
            [ErasureStatements.name(of: installation)] + aliases.map { ErasureStatements.name(of: $0) }
            + (claimant.subject.map { [ErasureStatements.name(ofSubject: $0)] } ?? [])
        return ErasureStatements.isErased(names, observedAt: observedAt, in: scope)
    }

    /// Why ``lock(observedAt:aliases:registers:)``, with equal parameters, locked no row; see ``Refusal``.
    func refusalFacts(
        observedAt: Date?,
        aliases: [Alias] = [],
        registers: Bool = false,
        lacksRoom: SQL = "false"
    ) -> SQL {
        Refusal.facts(
            ofApp: scope.app.id,
            foreign: registers ? Refusal.nobody : InstallationOwner.foreign(self),
            erased: """
                ARRAY(SELECT 'installation' FROM apps app
                    WHERE app.app_id = \(scope.app.id) AND \(sql: isErased(observedAt, aliases)))
                """,
            lacksRoom: lacksRoom
        )
    }

    func isOf(_ row: String) -> SQL {
        "\(sql: scope.contains(row)) AND \(unescaped: row).installation_hash = \(installation.bytes)"
    }

    /// Merges the request's values, each by the greatest (time, value) since the last log-out (R6).
    func merge(_ profile: InstallationProfile) -> SQL {
        let aliases = profile.aliases.map { JSONB($0.canonicalJSON) }
        let metadata = profile.metadata.map { JSONB($0.canonicalJSON) }
        return """
            UPDATE installations i SET
                aliases = CASE WHEN \(sql: wins("aliases")) THEN r.aliases ELSE i.aliases END,
                aliases_observed_at = CASE WHEN \(sql: wins("aliases")) THEN r.given_at ELSE i.aliases_observed_at END,
                displaced_aliases = CASE WHEN \(sql: wins("aliases")) THEN i.aliases END,
                metadata = CASE WHEN \(sql: wins("metadata")) THEN r.metadata ELSE i.metadata END,
                metadata_observed_at = CASE WHEN \(sql: wins("metadata")) THEN r.given_at ELSE i.metadata_observed_at END,
                changed = i.changed OR coalesce((\(sql: wins("aliases")) AND i.aliases IS DISTINCT FROM r.aliases)
                    OR (\(sql: wins("metadata")) AND i.metadata IS DISTINCT FROM r.metadata), false)
            FROM (
                SELECT coalesce(\(profile.observedAt), statement_timestamp()) AS given_at, \(aliases)::jsonb AS aliases,
                    \(metadata)::jsonb AS metadata, \(claimant.subject)::text AS subject
                OFFSET 0
            ) AS r
            WHERE \(sql: isOf("i")) AND \(sql: isLocked)
            RETURNING \(MergedProfile.columns)
            """
    }

    /// The request `r` gives a column of installation `i` later than all others did, and no other user took it over
    /// meanwhile.
    private func wins(_ column: String) -> SQL {
        """
        (r.\(unescaped: column) IS NOT NULL AND r.given_at > coalesce(i.removed_at, '-infinity')
            AND r.given_at >= coalesce(i.taken_over_at, '-infinity')
            AND coalesce(i.subject = r.subject, true) AND (i.\(unescaped: column) IS NULL
            OR (r.given_at, r.\(unescaped: column)) > (i.\(unescaped: column)_observed_at, i.\(unescaped: column))))
        """
    }

    /// Updates `installation_aliases` from the installation's own row, which is locked.
    var aliasRows: [SQL] {
        [
            """
            DELETE FROM installation_aliases al USING installations i
            WHERE \(sql: isOf("i")) AND \(sql: isOf("al")) AND NOT coalesce(i.aliases -> al.kind ? al.value, false)
                AND \(sql: isLocked)
            """,
            """
            INSERT INTO installation_aliases (scope_id, kind, value, installation_hash)
            SELECT i.scope_id, kinds.key, alias_values.value, i.installation_hash
            FROM installations i CROSS JOIN LATERAL jsonb_each(i.aliases) AS kinds
            CROSS JOIN LATERAL jsonb_array_elements_text(kinds.value) AS alias_values
            WHERE \(sql: isOf("i")) AND \(sql: isLocked)
            ON CONFLICT DO NOTHING
            """,
        ]
    }

    /// The event of a change of aliases or metadata; right after ``lock(observedAt:aliases:registers:)``, of a takeover.
    func changeEvent(_ type: SQL = "'installation-changed'", by who: UTF8Text) -> SQL {
        EventStatements.insertion(
            """
            SELECT \(sql: type) AS type, \(unescaped: EventStatements.columns(ofChangedInstallation: "i"))
            FROM installations i WHERE \(sql: isOf("i")) AND i.changed AND \(sql: isLocked)
            """,
            by: who,
            in: scope
        )
    }

    /// The statements that follow ``lock(observedAt:aliases:registers:)`` at once, where a signed-in user may have taken the
    /// installation over from another, or only cleared its aliases: the event, and the leases that were taken for the other.
    func takeover(by who: UTF8Text) -> [SQL] {
        guard let subject = claimant.subject else { return [] }
        let isTheirs: SQL = "i.subject = \(subject)::text"
        return [
            changeEvent("CASE WHEN \(sql: isTheirs) THEN 'taken-over' ELSE 'installation-changed' END", by: who),
            LeaseStatements.deletion(of: self, where: "i.changed AND \(sql: isTheirs) AND \(sql: isLocked)"),
        ]
    }

    var record: SQL {
        "SELECT \(InstallationRecord.columns) FROM installations i WHERE \(sql: isOf("i"))"
    }

    /// All tokens that are not deleted, each with the reason if it is withheld.
    var tokens: SQL {
        """
        SELECT \(InstallationRecord.Token.columns)
        FROM \(sql: scope.view(.installationTokens)) r WHERE \(sql: isOf("r")) AND r.token IS NOT NULL
        ORDER BY r.kind, r.attributes_type
        """
    }
}
