import PostgresDriver
import RegistryCore
import RegistryRules

struct RowWrite {
    let rows: LockedRows
    let scope: Scope

    var statements: [SQL] {
        let (activities, values) = (rows.activities.values, rows.values.values)
        let (removed, added) = aliasRows
        // Inserts rows in the order of their keys, to avoid deadlocks.
        let new = activities.filter { $0.isWritten && $0.original == nil }.sorted { $0.value.id < $1.value.id }
        return write("activities.insert", new, ["now": rows.now])
            + write("activities.update", activities.filter { $0.isWritten && $0.original != nil }, ["now": rows.now])
            + write("feedback.update-withholding", withheld)
            + AliasWrite.statements(removed: removed, added: added, in: scope)
            + write("activities.insert-values", owners { $0 == nil }.sorted { $0.value.digest < $1.value.digest })
            + write("activities.update-values", owners { $0 != nil })
            + values.filter(\.hasOtherInstallation).map(writeInstallation)
            + reports(about: values.filter { !$0.hasOtherInstallation })
            + installationStatements
            + rows.events.insertion(in: scope)
    }

    func write<Row: PostgresComposite>(_ query: Query, _ rows: [Row], _ others: QueryValues = [:]) -> [SQL] {
        rows.isEmpty ? [] : [query(["scope": scope.id, "rows": rows] + others)]
    }

    private func owners(where isIncluded: (_ original: TokenValue?) -> Bool) -> [TokenOwnerWrite] {
        let owned = rows.values.values.filter { $0.value.owner != $0.original?.owner && isIncluded($0.original) }
        return owned.map(\.value).map { value in
            TokenOwnerWrite(value: value, key: value.owner.flatMap { rows.activities[$0.activityID]?.value.key })
        }
    }

    /// Activities without a request, but with a changed token value.
    private var withheld: [WithholdingWrite] {
        rows.activities.values.filter { !$0.isWritten && $0.original != $0.value }.map { .init(activity: $0.value) }
    }

    private func reports(about values: [LockedRows.Row<TokenValue>]) -> [SQL] {
        let new = values.filter { $0.original == nil && $0.value.owner == nil }
        let known = values.filter { $0.original != nil && $0.isWritten }
        return write("feedback.insert-values", new.map(\.value).sorted { $0.digest < $1.digest })
            + write("feedback.update-values", known.map(\.value), ["now": rows.now])
    }

    /// The changes that keep `activity_aliases` equal to the activities' aliases.
    private var aliasRows: (removed: Set<AliasWrite>, added: Set<AliasWrite>) {
        var (removed, added): (Set<AliasWrite>, Set<AliasWrite>) = ([], [])
        for row in rows.activities.values where row.isWritten && row.hasOtherAliasRows {
            let before = row.original.map { AliasWrite.rows(of: $0) } ?? []
            let after = AliasWrite.rows(of: row.value)
            removed.formUnion(before.subtracting(after))
            added.formUnion(after.subtracting(before))
        }
        return (removed, added)
    }
}

extension LockedRows.Row<Activity>: PostgresArrayElement, PostgresEncodable, PostgresComposite {
    package func encode(into columns: inout CompositeWriter) {
        let activity = value
        columns.append(activity.position)
        columns.append(activity.id)
        columns.append(activity.installation)
        columns.append(activity.subject)
        activity.facts.encode(into: &columns)
        columns.append(activity.startsAt)
        columns.append(activity.startedAt)
        columns.append(activity.expiresAt)
        columns.append(activity.end?.at)
        columns.append(activity.end?.reason)
        columns.append(activity.expiryRecordedAt)
        columns.append(activity.lastObservedAt)
        columns.append(changed(activity.aliases?.value, original?.aliases?.value))
        columns.append(activity.aliases?.observedAt)
        columns.append(changed(activity.metadata?.value, original?.metadata?.value))
        columns.append(activity.metadata?.observedAt)
        columns.append(activity.token?.token)
        columns.append(activity.token?.digest)
        columns.append(activity.token?.observedAt)
        columns.append(activity.token?.claimedAt)
        columns.append(activity.withheld)
        columns.append(activity.confirmedAt)
        columns.append(activity.revision)
    }

    /// Nil for an unchanged value, which avoids encoding its JSON.
    private func changed<Content: CanonicalValue>(_ new: Content?, _ stored: Content?) -> JSONB? {
        new == stored ? nil : new?.jsonb
    }
}

private struct WithholdingWrite: PostgresComposite {
    let activity: Activity

    func encode(into columns: inout CompositeWriter) {
        columns.append(activity.position)
        columns.append(activity.withheld)
        columns.append(activity.revision)
    }
}

private struct AliasWrite: PostgresComposite, Hashable, Comparable {
    let activityID: ActivityID
    let key: Int64?
    let alias: Alias
    let isOver: Bool

    static func rows(of activity: Activity, isOver: Bool? = nil) -> Set<AliasWrite> {
        let (key, isOver) = (activity.key, isOver ?? activity.isOver)
        let aliases = activity.aliases?.value.aliases ?? []
        return Set(aliases.map { AliasWrite(activityID: activity.id, key: key, alias: $0, isOver: isOver) })
    }

    static func statements(removed: Set<AliasWrite>, added: Set<AliasWrite>, in scope: Scope) -> [SQL] {
        let writes: [(Query, Set<AliasWrite>)] = [
            ("activities.delete-aliases", removed), ("activities.insert-aliases", added),
        ]
        return writes.filter { !$1.isEmpty }.map { $0(["scope": scope.id, "rows": $1.sorted()]) }
    }

    func encode(into columns: inout CompositeWriter) {
        columns.append(activityID)
        columns.append(key)
        columns.append(alias.kind)
        columns.append(alias.value)
        columns.append(isOver)
    }

    /// In the order of the table's index.
    static func < (left: Self, right: Self) -> Bool {
        left.alias == right.alias ? left.activityID < right.activityID : left.alias < right.alias
    }
}

extension [Activity] {
    /// Deletes the alias rows of locked activities.
    ///
    /// - Parameter areClosed: inserts them again as rows of ended activities, which resolve does not read.
    func deletionOfAliases(areClosed: Bool = false, in scope: Scope) -> [SQL] {
        let closed = areClosed ? flatMap { AliasWrite.rows(of: $0, isOver: true) } : []
        return AliasWrite.statements(removed: Set(flatMap { AliasWrite.rows(of: $0) }), added: Set(closed), in: scope)
    }
}

private struct TokenOwnerWrite: PostgresComposite {
    let value: TokenValue
    let key: Int64?

    func encode(into columns: inout CompositeWriter) {
        columns.append(value.position)
        columns.append(value.digest)
        columns.append(value.owner?.activityID)
        columns.append(key)
        columns.append(value.owner?.observedAt)
    }
}

/// The columns that feedback changes.
extension TokenValue: PostgresComposite {
    package func encode(into columns: inout CompositeWriter) {
        columns.append(position)
        columns.append(digest)
        columns.append(deadAt)
        columns.append(quarantine?.at)
        columns.append(quarantine?.kind)
        columns.append(quarantine?.reason)
        columns.append(deliveredAt)
    }
}

extension [NewAuditEvent] {
    func insertion(in scope: Scope) -> [SQL] {
        guard !isEmpty else { return [] }
        let retention = scope.app.settings.eventRetention
        return [Query("activities.insert-events")(["scope": scope.id, "retention": retention, "rows": self])]
    }
}

extension NewAuditEvent: PostgresComposite {
    package func encode(into columns: inout CompositeWriter) {
        columns.append(kind)
        columns.append(actor)
        columns.append(activityID)
        columns.append(installation)
        columns.append(subject)
        columns.append(aliases?.jsonb)
        columns.append(tokenDigest.map { Array($0.bytes.prefix(4)) })
        columns.append(slot?.kind)
        columns.append(slot.flatMap { $0.attributesType == "" ? nil : $0.attributesType })
        columns.append(leaseID)
    }
}

extension LockedRows.Row<Activity> {
    fileprivate var hasOtherAliasRows: Bool {
        value.aliases?.value != original?.aliases?.value || value.isOver != original?.isOver
    }
}
