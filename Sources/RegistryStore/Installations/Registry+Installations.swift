import Foundation
import PostgresDriver
import RegistryCore
import RegistryRules

extension Registry {
    /// A signed-in user takes over the installation (R6).
    package func put(
        _ profile: InstallationProfile,
        for installation: InstallationHash,
        in scope: Scope,
        by who: UTF8Text,
        claimant: Claimant = .any
    ) async throws -> InstallationResult {
        let time = profile.observedAt.map(Timestamp.init)
        let request = InstallationRequest(installation, observedAt: time, claimant: claimant, actor: who)
        let locks = InstallationLocks(of: request, aliases: profile.aliases?.aliases ?? [])
        return try await transact { transaction, _ in
            var rows = try RowLocks(scope: scope).lockRows(locks, transaction)
            let outcome = try rows.decide { rows throws(Rejection) in try rows.put(profile, request) }
            try rows.write(in: scope, transaction)
            return try rows.result(of: request, outcome)
        }
    }

    package func installation(_ installation: InstallationHash, in scope: Scope) async throws -> InstallationRecord? {
        let values: QueryValues = ["scope": scope.id, "installation": installation]
        return try await read { session in
            let results = try session.pipeline([
                Query("installations.read")(values), Query("explain.read-tokens")(values),
            ])
            var record = try results[0].decode(InstallationRecord.self).first
            record?.tokens = try results[1].decode()
            return record
        }
    }

    /// Removes start and device tokens, aliases and metadata, and ends activities, if observed at or before the
    /// log-out. An unknown installation gets a tombstone.
    ///
    /// The log-out's transaction ends the first thousand activities; further transactions end a thousand each. Once the
    /// log-out is committed, none is deliverable.
    package func logOut(
        _ installation: InstallationHash,
        observedAt: Date?,
        in scope: Scope,
        by who: UTF8Text,
        claimant: Claimant = .any
    ) async throws {
        let observedAt = observedAt.map(Timestamp.init)
        let request = InstallationRequest(installation, observedAt: observedAt, claimant: claimant, actor: who)
        let unit = LogOutUnit(request: request, scope: scope)
        let first = try await transact { transaction, _ in try unit.logOut(in: transaction) }
        var next = first.next
        while let key = next {
            next = try await transact { transaction, _ in
                let search = unit.search(after: key, startedBy: first.time)
                return try unit.end(at: first.endedAt).endPage(search, transaction).next
            }
        }
    }
}

extension LockedRows {
    mutating func decide<Value>(_ decision: (inout Self) throws(Rejection) -> Value) throws(Problem) -> Value {
        do throws(Rejection) {
            return try decision(&self)
        } catch { throw error == .notYours ? .notYourInstallation : Problem(error, at: now) }
    }

    fileprivate func result(of request: InstallationRequest, _ outcome: ProfileOutcome) throws -> InstallationResult {
        guard outcome == .stored else {
            let event = outcome == .loggedOut ? "The installation logged out" : "Another user registered it"
            var problem = Problem(.superseded, "\(event) later. Send the current profile with its time.")
            problem.serverTime = now.date
            throw problem
        }
        let installation = installations[request.installation]
        var result = InstallationResult(
            installation: request.installation,
            isNew: installations.isNew(request.installation),
            observedAt: (request.observedAt ?? now).date
        )
        result.aliasesObservedAt = installation.aliases?.observedAt.date
        result.metadataObservedAt = installation.metadata?.observedAt.date
        return result
    }
}

extension Problem {
    /// Contains no facts about the installation, because it belongs to another user.
    fileprivate static var notYourInstallation: Problem {
        Problem(
            .notYours,
            """
            The installation belongs to another user. PUT …/installations/{installationId} takes it over and clears its \
            aliases; only then may you change its records.
            """
        )
    }

    static var noRoom: Problem {
        let most = InstallationToken.mostAttributesTypes
        let detail = "exceeds the number of attributes types of an installation"
        return Problem(
            .invalidRequest,
            """
            The installation has start tokens of \(most) attributes types, including recently deleted ones, which is the \
            most that is stored. Register the app's types of ActivityAttributes by their own names.
            """,
            errors: [JSONFault(pointer: "/attributesType", detail: detail)]
        )
    }
}

package struct InstallationResult: Sendable, Hashable, JSONObjectEncodable {
    package let installation: InstallationHash
    package let isNew: Bool
    package let observedAt: Date
    /// Later than `observedAt` if a newer request set the aliases.
    package var aliasesObservedAt: Date?
    package var metadataObservedAt: Date?

    package func writeMembers(to json: inout JSONWriter) {
        json.hex("installation", installation.bytes)
        json.member("observedAt", observedAt)
        json.member("aliasesObservedAt", ifPresent: aliasesObservedAt)
        json.member("metadataObservedAt", ifPresent: metadataObservedAt)
    }
}

/// All stored data of one installation. Tokens appear as fingerprints.
package struct InstallationRecord: Sendable, Hashable, DecodableRow, JSONObjectEncodable {
    package let installation: InstallationHash
    /// The server's clock at the last request about it.
    package let touchedAt: Date
    package let subject: UTF8Text?
    /// Stored JSON, `{"kind": ["value", …]}`.
    package let aliases: [UInt8]?
    package let aliasesObservedAt: Date?
    package let metadata: [UInt8]?
    package let metadataObservedAt: Date?
    /// The latest time of its full states and log-outs.
    package let fullStateAt: Date?
    package let loggedOutAt: Date?
    /// All start, device and widget tokens, also deleted ones. Responses omit the latter.
    package var tokens: [AliasExplanation.Token] = []

    package init(row: NamedRow) throws {
        installation = try row["installation_hash"]
        touchedAt = try row["touched_at"]
        subject = try row["subject"]
        aliases = (try row["aliases"] as JSONB?)?.bytes
        aliasesObservedAt = try row["aliases_observed_at"]
        metadata = (try row["metadata"] as JSONB?)?.bytes
        metadataObservedAt = try row["metadata_observed_at"]
        fullStateAt = try row["full_state_at"]
        loggedOutAt = try row["removed_at"]
    }

    package func writeMembers(to json: inout JSONWriter) {
        json.hex("installation", installation.bytes)
        json.member("subject", ifPresent: subject)
        json.raw("aliases", ifPresent: aliases)
        json.member("aliasesObservedAt", ifPresent: aliasesObservedAt)
        json.raw("metadata", ifPresent: metadata)
        json.member("metadataObservedAt", ifPresent: metadataObservedAt)
        json.member("fullStateAt", ifPresent: fullStateAt)
        json.member("loggedOutAt", ifPresent: loggedOutAt)
        json.member("touchedAt", touchedAt)
        json.array("tokens") { json in
            for token in tokens where !token.isDeleted {
                json.object { json in
                    json.member("kind", token.kind)
                    json.member("attributesType", ifPresent: token.attributesType)
                    json.hex("fingerprint", ifPresent: token.fingerprint)
                    json.member("observedAt", ifPresent: token.observedAt)
                    json.member("confirmedAt", ifPresent: token.confirmedAt)
                    let availability = token.facts.availability
                    json.member("reason", ifPresent: availability == .handedOut ? nil : availability.rawValue)
                }
            }
        }
    }
}

private struct LogOutUnit {
    let request: InstallationRequest
    let scope: Scope

    func logOut(
        in transaction: borrowing PostgresTransaction
    ) throws -> (time: Timestamp, endedAt: Timestamp, next: Int64?) {
        let locks = InstallationLocks(of: request, includesSlots: true)
        // A log-out without a time is later than every start.
        let first = search(after: 0, startedBy: request.observedAt ?? .distantFuture)
        let page = try EndUnit.page(transaction.pipeline([locks.lockInstallation(in: scope), first])[1])
        var rows = try RowLocks(scope: scope, ids: Set(page.ids)).lockRows(locks, transaction)
        let time: Timestamp
        do throws(Problem) {
            time = try rows.decide { rows throws(Rejection) in try rows.logOut(request) }
        } catch {
            guard error.isOfErased else { throw error }
            return (rows.now, rows.now, nil)
        }
        // A log-out without a time may get the future time of a fast clock.
        let endedAt = min(time, rows.now)
        _ = try end(at: endedAt).apply(to: page.ids, &rows, transaction)
        try rows.write(in: scope, transaction)
        return (time, endedAt, page.next)
    }

    func end(at time: Timestamp) -> EndUnit {
        EndUnit(scope: scope, reason: .ended, observedAt: time, who: request.actor, claimant: .any)
    }

    /// A page of the running activities that had started by the log-out. An earlier start may be reported later; the
    /// view of deliverable activities applies this rule too.
    func search(after key: Int64, startedBy time: Timestamp) -> SQL {
        Query("installations.read-running-page")([
            "scope": scope.id, "installation": request.installation, "after": key, "started_by": time,
            "limit": EndUnit.pageSize,
        ])
    }
}
