import Foundation
import PostgresDriver
import RegistryCore

extension Registry {
    /// The first page includes notes, tokens of installations and leases.
    package func explain(
        _ alias: Alias,
        after position: ListPosition = .start,
        limit: Int,
        in scope: Scope
    ) async throws -> AliasExplanation {
        let here = alias.values(in: scope)
        let most = 50
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
            explanation.leases = try scope.explain(results[6], session)
            return explanation
        }
    }
}

/// The activities and tokens of an alias, each with the reason why it is deliverable or not. Tokens appear as
/// fingerprints.
package struct AliasExplanation: Sendable, Hashable {
    package struct Activity: Sendable, Hashable, DecodableRow, JSONObjectEncodable {
        package let key: Int64
        /// Closed by a sweep or an end. Pages list closed activities last.
        package let isClosed: Bool
        package let activityID: ActivityID
        package let state: ActivityState
        package var facts: TokenFacts
        package let fingerprint: [UInt8]?
        package let installation: InstallationHash?
        package let attributesType: UTF8Text?
        package let startedAt: Date
        package let startsAt: Date?
        /// The device's clock at the observation of the token, or of the activity if it has no token. Nil if only an
        /// end is known.
        package let observedAt: Date?
        package let confirmedAt: Date?
        package let expiresAt: Date
        /// The last push that APNs accepted.
        package let deliveredAt: Date?

        package var position: ListPosition { ListPosition(part: isClosed ? 1 : 0, number: key) }

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

        package func writeMembers(to json: inout JSONWriter) {
            json.member("activityId", activityID.rawValue)
            json.member("state", state.rawValue)
            json.facts(facts, fingerprint)
            json.hex("installation", ifPresent: installation?.bytes)
            json.member("attributesType", ifPresent: attributesType)
            json.member("startedAt", startedAt)
            json.member("startsAt", ifPresent: startsAt)
            json.member("observedAt", ifPresent: observedAt)
            json.member("confirmedAt", ifPresent: confirmedAt)
            json.member("expiresAt", expiresAt)
            json.member("deliveredAt", ifPresent: deliveredAt)
        }
    }

    package struct Token: Sendable, Hashable, DecodableRow, JSONObjectEncodable {
        package let kind: String
        package let installation: InstallationHash
        package let attributesType: UTF8Text?
        package let facts: TokenFacts
        /// Nil, like the times, if only a deletion is known.
        package let fingerprint: [UInt8]?
        package let observedAt: Date?
        package let confirmedAt: Date?
        package let isDeleted: Bool

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

        package func writeMembers(to json: inout JSONWriter) {
            json.member("kind", kind)
            json.hex("installation", installation.bytes)
            json.member("attributesType", ifPresent: attributesType)
            json.facts(facts, fingerprint)
            json.member("observedAt", ifPresent: observedAt)
            json.member("confirmedAt", ifPresent: confirmedAt)
        }
    }

    package enum Note: Sendable, Hashable, JSONObjectEncodable {
        /// All earlier data was erased.
        case erased(Date)
        case unknown
        /// Used only in the other environment.
        case knownElsewhere(APNSEnvironment)
        /// Unknown, but a value that differs only in letter case is known.
        case otherCase(UTF8Text)

        package var code: String {
            switch self {
            case .erased: "erased"
            case .unknown: "unknown"
            case .knownElsewhere: "other-environment"
            case .otherCase: "other-case"
            }
        }

        package var sentence: String {
            switch self {
            case .erased(let time):
                "All data about the alias until \(RFC3339.format(time)) was erased and is not stored again."
            case .unknown:
                "No record has the alias in this app and environment, or the retention of its activities is over."
            case .knownElsewhere(let environment):
                "No record has the alias here, but a record in \(environment.rawValue) has it. Check the environment."
            case .otherCase(let value):
                "No record has the alias, but a record has \(value). Aliases are case-sensitive: use the same case everywhere."
            }
        }

        package func writeMembers(to json: inout JSONWriter) {
            json.member("code", code)
            json.member("detail", sentence)
        }
    }

    package let alias: Alias
    package var notes: [Note] = []
    package var activities: [Activity] = []
    /// Only of the first installations with the alias.
    package var tokens: [Token] = []
    /// Only of the first installations, and only on the first page.
    package var leases: [ExplainedLease] = []
}

extension JSONWriter {
    fileprivate mutating func facts(_ facts: TokenFacts, _ fingerprint: [UInt8]?) {
        member("handedOut", facts.availability == .handedOut)
        member("reason", facts.availability.rawValue)
        member("detail", facts.sentence)
        hex("fingerprint", ifPresent: fingerprint)
    }
}

package struct TokenFacts: Sendable, Hashable {
    package var availability: TokenAvailability
    package var since: Date?
    package var endReason: String?
    package var quarantineReason: String?

    package var sentence: String {
        switch availability {
        case .handedOut: "Senders get it."
        case .ended:
            endReason == "dismissed"
                ? "The user dismissed the activity\(at); that is final." : "The activity was ended\(at); that is final."
        case .loggedOut: "Its installation logged out\(at); later observations count again."
        case .expired: "The activity's lifetime ended\(at); iOS no longer shows it."
        case .dismissed: "The full state of its installation\(at) did not list it; a later observation brings it back."
        case .noToken: "It has no token yet; senders get it when the app registers one."
        case .channel: "It has no token; the broadcast channel reaches it."
        case .noPush: "It gets no token; its app alone updates it."
        case .takenOver: "Another activity or installation registered the token later\(at); register the current token."
        case .kindConflict: "The value was registered as a token of another kind\(at), so it is withheld here."
        case .unregistered: "APNs reported the token as dead\(at), and no client has registered it since."
        case .quarantined:
            "A sender reported \(quarantineReason ?? "it")\(at); a later registration or an admin's release ends this."
        case .purged: "An admin purged registrations up to\(upTo); a later observation brings it back."
        case .deleted: "The app deleted it\(at); a later observation brings it back."
        }
    }

    private var at: String { since.map { " at \(RFC3339.format($0))" } ?? "" }
    private var upTo: String { since.map { " \(RFC3339.format($0))" } ?? " then" }
}
