import PostgresDriver
import RegistryCore

/// The queries for stale tokens of one kind. An index finds quarantined tokens; all others are found by reading the
/// tokens in ranges of their numbers.
struct StaleStatements {
    let kind: TokenKind
    let filter: StaleFilter
    let scope: Scope

    private static let rangeSize = 50_000
    private var isIndexed: Bool { reasons == [.quarantined] }

    private var reasons: [StaleReason] { StaleReason.allCases.filter(filter.reasons(of: kind).contains) }

    private var values: QueryValues { ["scope": scope.id, "kind": kind.name, "type": filter.attributesType] }

    private var conditions: QueryValues {
        ["reasons": reasons.map(\.rawValue), "unconfirmed_for": filter.staleAge(with: kind)]
    }

    /// The last number of a range; nil for the last range.
    func rangeEnd(after number: Int64, _ session: borrowing PostgresSession) throws -> Int64? {
        guard !isIndexed else { return nil }
        let find = NumberRange.find(of: kind, after: number, size: Self.rangeSize, in: scope)
        let range = try session.execute(find).decode(NumberRange.self)[0]
        return range.count < Self.rangeSize ? nil : range.last
    }

    func page(after position: Int64, through last: Int64, limit: Int) -> SQL {
        if isIndexed {
            return Query("stale.read-quarantined-page")(
                values + ["after": position, "most": SlotHolders.most, "limit": limit]
            )
        }
        return Query("stale.read-page")(values + conditions + ["after": position, "through": last, "limit": limit])
    }

    /// The page of quarantined tokens contains their total.
    func counts(after position: Int64, through last: Int64) -> SQL {
        isIndexed
            ? page(after: position, through: last, limit: 1)
            : Query("stale.count")(values + conditions + ["after": position, "through": last])
    }

    /// The tokens that are still stale; they may have changed before they were locked.
    func remaining(_ numbers: [Int64]) -> SQL { Query("stale.find-among")(values + conditions + ["numbers": numbers]) }

    func token(_ row: NamedRow) throws -> StaleToken {
        StaleToken(
            kind: kind,
            number: try row["number"],
            reasons: try reasons(row),
            fingerprint: try row["fingerprint"],
            observedAt: try row["observed_at"],
            confirmedAt: try row["confirmed_at"],
            unconfirmedFor: try row["unconfirmed_for"],
            activityID: try row["activity_id"],
            installation: try row["installation_hash"],
            attributesType: try row["attributes_type"],
            expiresAt: try row["expires_at"],
            quarantinedAt: try row["quarantined_at"],
            quarantineReason: try row["quarantine_reason"]
        )
    }

    func reasons(_ row: NamedRow) throws -> [StaleReason] {
        let holds: [StaleReason: Bool] = [
            .unconfirmed: try row["is_unconfirmed"], .expired: try row["is_expired"],
            .quarantined: try row["is_quarantined"],
        ]
        return reasons.filter { holds[$0] == true }
    }
}
