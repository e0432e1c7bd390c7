import PostgresDriver
import RegistryCore
import RegistryRules

/// The statements that write the rows that a unit of work changed.
struct RowWrite {
    let rows: LockedRows
    let scope: Scope

    var statements: [SQL] {
        let activities = rows.activities.values.filter(\.isWritten).sorted { $0.value.id < $1.value.id }
        let values = rows.values.values.filter { $0.original != $0.value }.sorted { $0.value.digest < $1.value.digest }
        let (removed, added) = aliasRows(activities)
        let new = activities.filter { $0.original == nil }.map { ActivityWrite(row: $0, place: nil) }
        let known = activities.filter { $0.original != nil }
            .map { ActivityWrite(row: $0, place: rows.handles[$0.value.id]?.place) }
        return write(.insertActivities, new, ["now": rows.now])
            + write(.updateActivities, known, ["now": rows.now])
            + write(.deleteAliases, removed.sorted())
            + write(.insertAliases, added.sorted())
            + write(.insertValues, values.filter { $0.original == nil }.map(owner))
            + write(.updateValues, values.filter { $0.original != nil }.map(owner))
            + write(.insertEvents, rows.events.map(EventWrite.init), ["retention": scope.app.settings.eventRetention])
    }

    private func write<Row: PostgresComposite>(_ query: Query, _ rows: [Row], _ others: QueryValues = [:]) -> [SQL] {
        rows.isEmpty ? [] : [query(["scope": scope.id, "rows": rows] + others)]
    }

    private func owner(_ row: LockedRows.Row<TokenValue>) -> TokenOwnerWrite {
        TokenOwnerWrite(
            value: row.value,
            place: rows.valueHandles[row.value.digest]?.place,
            key: row.value.owner.flatMap { rows.handles[$0.activityID]?.key }
        )
    }

    /// The differences of `activity_aliases` that keep it equal to the activities' own aliases.
    private func aliasRows(
        _ activities: [LockedRows.Row<Activity>]
    ) -> (removed: Set<AliasWrite>, added: Set<AliasWrite>) {
        var (removed, added): (Set<AliasWrite>, Set<AliasWrite>) = ([], [])
        for row in activities where row.hasOtherAliasRows {
            let key = rows.handles[row.value.id]?.key
            let before = row.original.map { AliasWrite.rows(of: $0, key) } ?? []
            let after = AliasWrite.rows(of: row.value, key)
            removed.formUnion(before.subtracting(after))
            added.formUnion(after.subtracting(before))
        }
        return (removed, added)
    }
}

extension Query {
    fileprivate static let insertActivities: Query = "activities.insert"
    fileprivate static let updateActivities: Query = "activities.update"
    fileprivate static let deleteAliases: Query = "activities.delete-aliases"
    fileprivate static let insertAliases: Query = "activities.insert-aliases"
    fileprivate static let insertValues: Query = "activities.insert-values"
    fileprivate static let updateValues: Query = "activities.update-values"
    fileprivate static let insertEvents: Query = "activities.insert-events"
}

/// `activity_write` of the schema.
private struct ActivityWrite: PostgresComposite {
    let row: LockedRows.Row<Activity>
    let place: String?

    func encode(into columns: inout CompositeWriter) {
        let activity = row.value
        columns.append(place)
        columns.append(activity.id)
        columns.append(activity.installation)
        columns.append(activity.subject)
        columns.append(activity.facts.attributesType)
        columns.append(activity.facts.frequentPushesEnabled)
        columns.append(activity.startsAt)
        columns.append(activity.startedAt)
        columns.append(activity.expiresAt)
        columns.append(activity.end?.at)
        columns.append(activity.end?.reason)
        columns.append(activity.expiryRecordedAt)
        columns.append(activity.lastObservedAt)
        columns.append(changed(\.aliases?.value))
        columns.append(activity.aliases?.observedAt)
        columns.append(changed(\.metadata?.value))
        columns.append(activity.metadata?.observedAt)
        columns.append(activity.token?.token)
        columns.append(activity.token?.digest.bytes)
        columns.append(activity.token?.observedAt)
        columns.append(activity.token?.claimedAt)
        columns.append(activity.withheld)
        columns.append(activity.confirmedAt)
        columns.append(activity.revision)
    }

    /// Nil for the stored value, which spares its JSON.
    private func changed<Value: CanonicalValue>(_ value: KeyPath<Activity, Value?>) -> JSONB? {
        let new = row.value[keyPath: value]
        return new == row.original?[keyPath: value] ? nil : new?.jsonb
    }
}

/// `activity_alias_write` of the schema.
private struct AliasWrite: PostgresComposite, Hashable, Comparable {
    let activityID: ActivityID
    let key: Int64?
    let alias: Alias
    let isOver: Bool

    static func rows(of activity: Activity, _ key: Int64?) -> Set<AliasWrite> {
        Set(
            (activity.aliases?.value.aliases ?? []).map {
                AliasWrite(activityID: activity.id, key: key, alias: $0, isOver: activity.isOver)
            }
        )
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

/// `token_owner_write` of the schema.
private struct TokenOwnerWrite: PostgresComposite {
    let value: TokenValue
    let place: String?
    let key: Int64?

    func encode(into columns: inout CompositeWriter) {
        columns.append(place)
        columns.append(value.digest.bytes)
        columns.append(value.owner?.activityID)
        columns.append(key)
        columns.append(value.owner?.observedAt)
    }
}

/// `event_write` of the schema.
private struct EventWrite: PostgresComposite {
    let event: NewAuditEvent

    func encode(into columns: inout CompositeWriter) {
        columns.append(event.kind)
        columns.append(event.actor)
        columns.append(event.activityID)
        columns.append(event.installation)
        columns.append(event.subject)
        columns.append(event.aliases?.jsonb)
        columns.append(event.tokenDigest.map { Array($0.bytes.prefix(4)) })
    }
}

extension LockedRows.Row<Activity> {
    fileprivate var hasOtherAliasRows: Bool {
        value.aliases?.value != original?.aliases?.value || value.isOver != original?.isOver
    }
}

extension CanonicalValue {
    var jsonb: JSONB { JSONB(canonicalJSON) }
}
