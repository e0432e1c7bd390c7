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
}

extension LockedRows {
    mutating func decide<Value>(_ decision: (inout Self) throws(Rejection) -> Value) throws(Problem) -> Value {
        do throws(Rejection) {
            return try decision(&self)
        } catch {
            throw error == .notYours ? .notYourInstallation : Problem(error, at: now)
        }
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
        var problem = Problem(
            .invalidRequest,
            """
            The installation has start tokens of \(most) attributes types, including recently deleted ones, which is the \
            most that is stored. Register the app's types of ActivityAttributes by their own names.
            """
        )
        let detail = "exceeds the number of attributes types of an installation"
        problem.errors = [JSONFault(pointer: "/attributesType", detail: detail)]
        return problem
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
