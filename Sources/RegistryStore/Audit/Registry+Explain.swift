import Foundation
import PostgresDriver
import RegistryCore

extension Registry {
    private static let explainedInstallations = 50

    /// The first page includes notes, tokens of installations and leases.
    package func explain(
        _ alias: Alias,
        after position: ListPosition = .start,
        limit: Int,
        in scope: Scope
    ) async throws -> AliasExplanation {
        let here = alias.values(in: scope)
        let most = Self.explainedInstallations
        let page = Query("explain.read-page")(
            here + ["is_closed": position.part > 0, "after": position.number, "limit": limit]
        )
        // Swift prints UUIDs in upper case, most servers in lower case; people write names with capitals.
        let value = alias.value.string
        let beginsUpper = value.prefix(1).uppercased() + value.dropFirst()
        let others = [value.lowercased(), value.uppercased(), value.capitalized, beginsUpper].map { UTF8Text($0) }
        let spellings = Set(others).subtracting([alias.value]).sorted()
        let askIfKnown: Query = "explain.is-known"
        let rest =
            [
                Query("explain.read-tokens-of-alias")(here + ["limit": most]),
                Erasures.find([ErasureSubject.alias(alias).name], in: scope),
                askIfKnown(here), askIfKnown(alias.values(in: scope.other)),
                Query("plan.list-leases-of-alias")(here + ["limit": most]),
            ] + spellings.map { askIfKnown(Alias(checkedKind: alias.kind, value: $0).values(in: scope)) }
        return try await read { session in
            let isFirst = position == .start
            let channel = BroadcastChannel.find([alias], in: scope)
            let results = try session.pipeline([page, channel] + (isFirst ? rest : []))
            var explanation = AliasExplanation(alias: alias)
            explanation.activities = try results[0].decode()
            let hasChannel = !results[1].isEmpty
            for index in explanation.activities.indices
            where hasChannel && explanation.activities[index].facts.availability == .noToken {
                explanation.activities[index].facts.availability = .channel
            }
            guard isFirst else { return explanation }
            explanation.tokens = try results[2].decode()
            if let erasedAt = try Erasures.last(results[3]) { explanation.notes.append(.erased(erasedAt.date)) }
            let isKnown = try (results[4...5] + results[7...]).map { try $0.decode { try $0["is_known"] as Bool }[0] }
            if !isKnown[0] {
                let others = zip(spellings, isKnown[2...]).filter(\.1).map { AliasExplanation.Note.otherCase($0.0) }
                explanation.notes.append(
                    isKnown[1] ? .knownElsewhere(scope.environment.other) : others.first ?? .unknown
                )
            }
            explanation.leases = try ExplainedLease.explain(results[6], in: scope, session)
            return explanation
        }
    }
}

extension AliasExplanation.Activity: DecodableRow {
    package init(row: NamedRow) throws {
        key = try row["activity_key"]
        activityID = try row["activity_id"]
        isClosed = try row["is_closed"]
        state = try row["state"]
        facts = TokenFacts(
            availability: try row["reason"] ?? .handedOut,
            since: try row["since"],
            endReason: try row["end_reason"],
            quarantineReason: try row["quarantine_reason"]
        )
        fingerprint = try row["fingerprint"]
        installation = try row["installation_hash"]
        attributesType = try row["attributes_type"]
        startedAt = try row["started_at"]
        startsAt = try row["starts_at"]
        observedAt = try row["observed_at"]
        confirmedAt = try row["confirmed_at"]
        expiresAt = try row["expires_at"]
        deliveredAt = try row["delivered_at"]
    }
}

extension AliasExplanation.Token: DecodableRow {
    package init(row: NamedRow) throws {
        installation = try row["installation_hash"]
        kind = try row["kind"]
        attributesType = try row["attributes_type"]
        facts = TokenFacts(
            availability: try row["reason"] ?? .handedOut,
            since: try row["since"],
            quarantineReason: try row["quarantine_reason"]
        )
        fingerprint = try row["fingerprint"]
        observedAt = try row["observed_at"]
        confirmedAt = try row["confirmed_at"]
        isDeleted = try row["is_deleted"]
    }
}
