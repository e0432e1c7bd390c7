import Foundation
import PostgresDriver
import RegistryCore
import TestSupport

@testable import RegistryStore

/// The statements that read much on purpose, in samples or in pages, or little of small tables: nobody looks at their plans
/// here, but they stand in `sql/statements` like all others.
extension PlannedStatements {
    static func lists(in scope: Scope) throws -> [PlannedStatements] {
        try counts(scope) + exports(scope) + audits(scope) + apps(scope) + database(scope) + onCitus(scope)
    }

    // MARK: Counts

    private static func counts(_ scope: Scope) -> [PlannedStatements] {
        let (counts, statistics) = (CountStatements(scope: scope), StatisticsStatements(scope: scope))
        let counting: [SQL] = [100, 5].flatMap { [counts.activities(percent: $0), counts.tokens(percent: $0)] }
        let events: [SQL] = [
            statistics.sampledEvents(areCommon: true, since: .minutesAgo(60), step: .seconds(60), percent: 5),
            statistics.sampledEvents(areCommon: false, since: .minutesAgo(60), step: .seconds(60), percent: 5),
            statistics.rareEvents(since: .minutesAgo(60), step: .seconds(60)),
        ]
        return [
            Self(
                name: "statistics",
                statements: [TableSample.rows(of: "events")] + events + [counts.history(since: .minutesAgo(60))]
            ),
            Self(
                name: "counts",
                statements: [counts.current, counts.latest, TableSample.rows(of: "activities")] + counting
                    + [counts.store(JSONB(Array("{}".utf8)), isEstimated: false), counts.thinOut]
            ), Self(name: "totals", statements: TotalStatements.all(of: nil) + [TotalStatements.eventsWritten]),
        ]
    }

    /// Statements that one Postgres gets in another form.
    private static func onCitus(_ scope: Scope) throws -> [PlannedStatements] {
        let request = PlanRequest(alias: .sample("orderId", "77"), attributesType: try AttributesType("Delivery"))
        let plan = PlanStatements(request: request, scope: scope, who: "test")
        return [
            Self(name: "totals on Citus", statements: TotalStatements.all(of: scope.id)),
            Self(name: "plan on Citus", statements: plan.takeOnCitus([[1], [2]], after: 0)),
            Self(
                name: "sizes on Citus",
                statements: [
                    DistributedSizes.rows(of: "activities", holding: scope.id),
                    DistributedSizes.pages(of: "activities", holding: scope.id),
                ]
            ),
        ]
    }

    // MARK: Exports and audit

    private static func exports(_ scope: Scope) -> [PlannedStatements] {
        let export = ExportStatements(scope: scope)
        return TokenKind.all.map { kind in
            Self(
                name: "export of \(kind.name) tokens",
                statements: [export.range(of: kind, after: 100), export.rows(of: kind, after: 100, through: 1100)]
            )
        } + [
            Self(
                name: "export of names",
                statements: [export.installations(after: [0x80]), export.names(after: "77", "app")]
            )
        ]
    }

    private static func audits(_ scope: Scope) throws -> [PlannedStatements] {
        let all = AuditEventStatements(filter: EventFilter(), scope: scope)
        var ofActivity = EventFilter()
        ofActivity.activityID = .sample("activity-5")
        let overview = OverviewStatements(scope: scope)
        return [
            Self(
                name: "audit events",
                statements: [all.range(before: 1000, count: 100), all.page(from: 1, before: 1000, limit: 100)]
                    + [AuditEventStatements(filter: ofActivity, scope: scope).page(before: 1000, limit: 100)]
                    + [all.end(of: .minutesAgo(60))]
            ),
            Self(
                name: "changes",
                statements: [
                    ChangeStatements.lastNumber, ChangeStatements.moment, ChangeStatements.flush, ChangeStatements.mark,
                    ChangeStatements.page(
                        since: TransactionSnapshot("700:700:")!,
                        until: TransactionSnapshot("700:710:700,705")!,
                        after: 100,
                        limit: 1000,
                        in: scope
                    ), ChangeStatements.lastDropped(of: scope.app),
                ]
            ),
            Self(
                name: "lists of channels",
                statements: [overview.channels(after: ("", ""), limit: 100), overview.channelCounts]
            ),
        ]
            + TokenKind.all.map { kind in
                let stale = StaleStatements(kind: kind, filter: StaleFilter(), scope: scope)
                return Self(
                    name: "stale \(kind.name) tokens",
                    statements: [stale.range(after: 100), stale.page(after: 100, through: 1100, limit: 100)]
                        + [stale.counts(after: 100, through: 1100)]
                )
            }
    }

    // MARK: Apps, keys and the database

    private static func apps(_ scope: Scope) throws -> [PlannedStatements] {
        let bundleID = scope.app.bundleID
        var request = APIKeyRequest(role: .sender)
        request.name = "test"
        let (id, app) = (try APIKeyID("prs_0aB1cD2eF3gH"), scope.app.id)
        let tables = AppDeletionStatements.scannedTables.map {
            AppDeletionStatements.deleteRows(of: scope.id, from: $0, pages: 0..<2048)
        }
        return [
            Self(
                name: "apps",
                statements: [AppStatements.apps([bundleID]), AppStatements.apps]
                    + [AppStatements.put(AppChanges(), for: bundleID), AppStatements.makeScopes(ofApp: app)]
                    + [AppStatements.change(AppChanges(), of: bundleID)]
                    + [EventStatements.aboutApp("app-changed", bundleID, by: "test")]
            ),
            Self(
                name: "deletion of an app",
                statements: [AppDeletionStatements.delete(bundleID), AppDeletionStatements.unfinished]
                    + [AppDeletionStatements.scopes(ofApp: app), AppDeletionStatements.pageCount(of: "activities")]
                    + tables
                    + AppDeletionStatements.indexedTables.map {
                        AppDeletionStatements.deleteRows(of: scope.id, from: $0)
                    }
                    + [AppDeletionStatements.deleteKeys(ofApp: app), AppDeletionStatements.finish(app)]
                    + [AppDeletionStatements.deleteScopes(ofApp: app)]
            ),
            Self(
                name: "keys",
                statements: [KeyStatements.keys([id]), KeyStatements.keys(ofApp: app), KeyStatements.all]
                    + [app, KeyStatements.noApp].map {
                        KeyStatements.create(id, digest: [UInt8](repeating: 1, count: 32), request, ofApp: $0)
                    }
                    + [KeyStatements.createdEvent(id, ofApp: app, by: "test"), KeyStatements.revoke(id, ofApp: app)]
                    + [KeyStatements.revokedEvent(id, ofApp: app, by: "test")]
                    + [KeyStatements.noteUse(of: id, ofApp: app, at: .minutesAgo(1))]
            ),
        ]
    }

    private static func database(_ scope: Scope) -> [PlannedStatements] {
        [
            Self(
                name: "condition of the database",
                statements: [ConditionStatements.settings, ConditionStatements.clock]
                    + [ConditionStatements.neglectedTables, HealthStatements.server, HealthStatements.tables]
                    + [HealthStatements.migrations]
            ),
            Self(
                name: "event partitions",
                statements: [EventPartitionStatements.lock, EventPartitionStatements.missing]
                    + [EventPartitionStatements.missing(for: scope.app.bundleID, retention: .seconds(86_400))]
                    + [EventPartitionStatements.past, EventPartitionStatements.scopesWithPast]
                    + [EventPartitionStatements.deletePast(of: scope.id)]
                    + [EventPartitionStatements.lastPast(of: scope.id, in: "events_default")]
                    + [EventPartitionStatements.noting(1000, lostTo: scope.id)]
            ),
        ]
    }
}
