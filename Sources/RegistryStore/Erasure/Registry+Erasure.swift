import PostgresDriver
import RegistryCore
import RegistryRules

/// Deleted or redacted rows. Each call counts only its own work; a repetition counts the rest.
package struct ErasureCounts: Sendable, Hashable {
    package var activities = 0
    package var records = 0
    /// Redacted audit events, which stay without personal data.
    package var events = 0
    /// Whether no further page is needed, although the search finds the row that stays.
    fileprivate var isComplete = false
}

extension Registry {
    /// Also redacts the audit trail. Earlier observations do not restore the data.
    ///
    /// Runs in small transactions; repeat it after a failure. The first transaction about an activity or installation
    /// withholds all its tokens.
    package func erase(_ subject: ErasureSubject, in scope: Scope, by who: UTF8Text) async throws -> ErasureCounts {
        let erasure = Erasure(subject: subject, scope: scope)
        try await write { session in
            guard try session.execute(erasure.remember([subject.name])).affectedRows > 0 else {
                throw Problem.appDeleted
            }
        }
        try await waitForWriters()
        let event = Query("erasure.insert-event")([
            "scope": scope.id, "retention": scope.app.settings.eventRetention, "who": who,
        ])
        var counts = ErasureCounts()
        let pages =
            try await inPages(&counts, [event], erasure.deleteActivities)
            + inPages(&counts, [event], erasure.deleteInstallations)
        // Followers of the feed list all activities again after each of these events: one after the deletion, and one
        // after the redaction of events that they may have to read.
        if pages > 1 { _ = try await write { try $0.execute(event).affectedRows } }
        // The subject's identities without an erased activity.
        if let identities = erasure.deleteIdentities { counts.records += try await writePages(identities) }
        if case .alias(let alias) = subject {
            let key = alias.values(in: scope)
            // Leases on installations without the alias. Other leases were deleted with their installations.
            let leases = Query("erasure.delete-leases-of-alias")(key + ["limit": Erasure.pageSize])
            counts.records += try await writePages(Query("channels.delete")(key)) + writePages(leases)
        }
        let redacted = try await redactEvents(erasure)
        counts.events += redacted
        if pages == 0 || redacted > 0 { _ = try await write { try $0.execute(event).affectedRows } }
        return counts
    }

    /// Waits until every request sees all commits. Rows deleted because of these commits then stay deleted.
    func waitForWriters() async throws {
        let time = try await read { try $0.execute(DatabaseCondition.clock)[0].decode(Timestamp.self) }
        let deadline = ContinuousClock.now + .seconds(10)
        while try await read({ try $0.run("erasure.count-writers", ["time": time]).readCount() }) > 0 {
            guard ContinuousClock.now < deadline else {
                throw Problem(.unavailable, "An earlier request is still in progress. Send the same request again.")
            }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    static let identityPageSize = 50

    /// Runs pages, each in its own transaction, until none is left, and returns their number. The event is part of the
    /// first page's transaction.
    ///
    /// - Parameter delete: deletes and counts a page; nil if it finds none.
    private func inPages(
        _ counts: inout ErasureCounts,
        _ event: [SQL],
        _ delete: @escaping @Sendable (_ event: [SQL], borrowing PostgresSession) throws -> ErasureCounts?
    ) async throws -> Int {
        var pages = 0
        while let page = try await write({ [pages] in try delete(pages == 0 ? event : [], $0) }) {
            pages += 1
            counts.activities += page.activities
            counts.records += page.records
            counts.events += page.events
            if page.isComplete { break }
        }
        return pages
    }

    private func redactEvents(_ erasure: Erasure) async throws -> Int {
        var total = 0
        var next: Int64? = 0
        while let start = next {
            let page = try await write { try erasure.redactEvents(after: start, $0) }
            total += page.count
            next = page.next
        }
        return total
    }
}

struct Erasure: Sendable {
    let subject: ErasureSubject
    let scope: Scope

    /// Activities and leases per transaction, kept low to stay below the statement timeout.
    fileprivate static let pageSize = 500
    /// Lower, because the audit trail's summary is read for each installation.
    private static let installationPageSize = 50
    /// Low, because each event is looked up in all days of the trail.
    static let eventPageSize = 2000
    static let searchedPageSize = 10_000

    func remember(_ names: [UTF8Text]) -> SQL {
        Query("erasure.remember")(["scope": scope.id, "names": names, "app": scope.app.id])
    }

    /// Leaves tombstones without names. If one transaction cannot finish, it withholds the activities' tokens, and
    /// requests about them are rejected. The rows stay because the next page finds the rest by them.
    func deleteActivities(_ event: [SQL], _ session: borrowing PostgresSession) throws -> ErasureCounts? {
        try session.transaction { transaction in
            let ids = try transaction.execute(findActivities).decode(ActivityID.self)
            guard !ids.isEmpty else { return nil }
            let activities: QueryValues = ["scope": scope.id, "ids": ids]
            let results = try transaction.pipeline([
                Query.lockActivities(activities),
                Query("erasure.find-events-of-activities")(activities + ["limit": Self.eventPageSize]),
                scope.deleteValues(of: ids),
            ])
            let events = try Self.eventNumbers(results[1])
            let values = try results[2].readCount()
            let isLast = events.count < Self.eventPageSize && values < Registry.tokenPageSize
            let end =
                isLast
                ? [Query("erasure.delete-identities-of-activities")(activities + ["kind": Alias.liveActivityKind])]
                    + scope.delete(try results[0].decode(Activity.self))
                : [Query("erasure.withhold")(activities)]
            let tombstones = remember(ids.map(Erasures.name(of:)))
            _ = try transaction.pipeline(event + redact(events) + [tombstones] + end, finishing: true)
            return ErasureCounts(activities: isLast ? results[0].count : 0, events: events.count)
        }
    }

    /// Leaves tombstones for installations, and deletes a page of their data. The first page withholds their tokens.
    /// The installations stay until no data is left, because the next page finds the rest by them.
    func deleteInstallations(_ event: [SQL], _ session: borrowing PostgresSession) throws -> ErasureCounts? {
        try session.transaction { transaction -> ErasureCounts? in
            let found = try transaction.execute(findInstallations)
            let hashes = try found.decode { try $0["installation_hash"] as InstallationHash }
            guard !hashes.isEmpty else { return nil }
            let installations: QueryValues = ["scope": scope.id, "hashes": hashes]
            let results = try transaction.pipeline([
                Query.lockInstallations(installations), remember(hashes.map { ErasureSubject.installation($0).name }),
                Query("erasure.delete-values")(installations + ["limit": Registry.tokenPageSize]),
                Query("erasure.delete-tokens")(installations), Query("installations.delete-leases")(installations),
                Query("events.prefer-indexes")(),
                Query("erasure.find-events-of-installations")(installations + ["limit": Self.eventPageSize]),
            ])
            let (page, values): (Int, Int) = try results[2].decode { try ($0["page_size"], $0["changes"]) }[0]
            let (tokenCount, leases) = (results[3].affectedRows, results[4].affectedRows)
            let numbers = try Self.eventNumbers(results[6])
            let isLast = numbers.count < Self.eventPageSize && page < Registry.tokenPageSize
            // Times of log-outs and full states stay while they end or dismiss activities.
            let redaction = Query("erasure.redact-installations")(installations)
            let end = isLast ? scope.deleteInstallations(hashes) + [redaction] : []
            let deleted = try transaction.pipeline(event + redact(numbers) + end, finishing: true).suffix(end.count)
            let records = values + tokenCount + leases + deleted.map(\.affectedRows).reduce(0, +)
            var counts = ErasureCounts(records: records, events: numbers.count)
            if case .installation = subject { counts.isComplete = isLast }
            return counts
        }
    }

    private static func eventNumbers(_ result: PostgresResult) throws -> [Int64] {
        try result.decode { try $0["event_number"] }
    }

    private func redact(_ numbers: [Int64]) -> [SQL] {
        numbers.isEmpty ? [] : [Query("erasure.redact-events")(["scope": scope.id, "numbers": numbers])]
    }

    /// Redacts a page of the events that name the subject and no erased activity or installation. Returns the number
    /// after which the next page begins, or nil after the last page.
    func redactEvents(
        after number: Int64,
        _ session: borrowing PostgresSession
    ) throws -> (next: Int64?, count: Int) {
        try session.transaction { transaction in
            let found = try transaction.pipeline([Query("events.prefer-indexes")(), findEvents(after: number)])[1]
            let next: Int64?
            let numbers: [Int64]
            if case .alias = subject {
                let (last, named): (Int64?, [Int64]?) = try found.decode { try ($0["last"], $0["numbers"]) }[0]
                next = last
                numbers = named ?? []
            } else {
                numbers = try Self.eventNumbers(found)
                // Redacted events are not found again.
                next = numbers.isEmpty ? nil : 0
            }
            _ = try transaction.pipeline(redact(numbers), finishing: true)
            return (next, numbers.count)
        }
    }

    /// A page of the activities to erase. It contains no erased activities.
    private var findActivities: SQL {
        let page: QueryValues = ["scope": scope.id, "limit": Self.pageSize]
        return switch subject {
        case .alias(let alias):
            Query("erasure.find-activities-of-alias")(alias.values(in: scope) + ["limit": Self.pageSize])
        case .installation(let hash): Query("erasure.find-activities-of-installation")(page + ["installation": hash])
        case .subject(let subject): Query("erasure.find-activities-of-subject")(page + ["subject": subject])
        }
    }

    private var findInstallations: SQL {
        let limit: QueryValues = ["limit": Self.installationPageSize]
        return switch subject {
        case .alias(let alias): Query("audit.find-installations-of-alias")(alias.values(in: scope) + limit)
        case .installation(let hash): Query("installations.read")(["scope": scope.id, "installation": hash])
        case .subject(let subject):
            Query("erasure.find-installations-of-subject")(["scope": scope.id, "subject": subject] + limit)
        }
    }

    var deleteIdentities: SQL? {
        let page: QueryValues = ["scope": scope.id, "limit": Registry.identityPageSize]
        let delete = { Query("erasure.delete-identities-of-owner")(page + ["owner": ($0 as ActivityOwner).stored]) }
        return switch subject {
        case .alias(let alias) where alias.kind == Alias.liveActivityKind:
            Query("erasure.delete-identities-of-alias")(page + ["alias": alias.value])
        case .alias: nil
        case .installation(let hash): delete(.installation(hash))
        case .subject(let subject): delete(.subject(subject))
        }
    }

    private func findEvents(after number: Int64) -> SQL {
        let page: QueryValues = ["scope": scope.id, "limit": Self.eventPageSize]
        return switch subject {
        case .alias(let alias):
            Query("erasure.find-events-of-alias")(
                alias.values(in: scope) + ["after": number, "limit": Self.searchedPageSize]
            )
        case .installation(let hash): Query("erasure.find-events-of-installations")(page + ["hashes": [hash]])
        case .subject(let subject):
            Query("erasure.find-events-of-subject")(page + ["subject": subject, "who": AuditName.user(subject)])
        }
    }
}

package enum ErasureSubject: Sendable, Hashable {
    /// All activities and installations that have the alias, and its channel.
    case alias(Alias)
    case installation(InstallationHash)
    case subject(UTF8Text)

    var name: UTF8Text {
        switch self {
        case .alias(let alias): "alias:\(alias.kind):\(alias.value)"
        case .installation(let hash): "installation:\(hash)"
        case .subject(let subject): "subject:\(subject)"
        }
    }
}
