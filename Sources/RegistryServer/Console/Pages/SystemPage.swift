import Foundation
import RegistryCore
import RegistryStore

extension ConsoleCall {
    func showSystem() async throws -> Response {
        let scope = try requireScope()
        let health = try await registry.health()
        let overdue = try await registry.overdueExpiry(in: scope)
        return try page(
            "system",
            [
                "program": .rows(program(health)), "postgres": .rows(postgres(health)),
                "tables": .list(isRoot ? health.tables.map { row($0) } : []),
                "migrations": .list(health.migrations.map { row($0) }),
                "settings": .list(console.configuration.settingsInForce.map { row($0) }),
                "sweep": .rows(sweep(overdue)),
                "findings": .list(health.condition.findings.map { ["finding": .text("\($0.detail) \($0.remedy)")] }),
                "isRoot": .flag(isRoot),
            ]
        )
    }

    private static func rows(_ pairs: [(String, String)]) -> [TemplateContext] {
        pairs.map { ["factName": .text($0), "factValue": .text($1)] }
    }

    private func program(_ health: PostgresHealth) -> [TemplateContext] {
        let applied = health.migrations.last?.version ?? 0
        let needed = SchemaMigrator.currentVersion
        return Self.rows([
            ("Version", console.configuration.version),
            ("This instance runs", "for \(DisplayText.span(now.timeIntervalSince(console.startedAt)))"),
            (
                "Schema",
                applied == needed
                    ? "version \(applied), which this program needs"
                    : "version \(applied); this program needs \(needed)"
            ),
        ])
    }

    private func postgres(_ health: PostgresHealth) -> [TemplateContext] {
        let reads = health.server.blocksHit + health.server.blocksRead
        let transactions = health.server.commits + health.server.rollbacks
        var pairs = [
            ("Version", health.condition.version),
            ("Running", "for \(DisplayText.span(now.timeIntervalSince(health.server.startedAt)))"),
            (
                "Connections",
                "\(DisplayText.count(health.condition.connections)) of \(DisplayText.count(health.condition.connectionLimit))"
            ),
            ("Longest transaction now", health.server.longestTransaction.map(DisplayText.span) ?? "none"),
            ("Waiting for locks", DisplayText.count(health.server.waiting)),
            ("Found in memory", "\(DisplayText.share(health.server.blocksHit, of: reads)) of block reads"),
            ("Deadlocks", DisplayText.count(health.server.deadlocks)),
            ("Rolled back", "\(DisplayText.share(health.server.rollbacks, of: transactions)) of transactions"),
            ("A commit waits for", health.server.commitWaits),
        ]
        if isRoot { pairs.insert(("Size", DisplayText.bytes(health.server.size)), at: 2) }
        return Self.rows(pairs)
    }

    private func sweep(_ overdue: OverdueExpiry?) -> [TemplateContext] {
        let last = console.sweeps.last
        let outcome = last.map { sweep in
            sweep.isComplete ? "took \(DisplayText.span(sweep.duration))" : "was given up; see the log"
        }
        return Self.rows([
            (
                "Last on this instance",
                last.map { "\(DisplayText.distance(of: $0.endedAt, from: now)), \(outcome ?? "")" } ?? "none yet"
            ),
            ("Waiting to be recorded here", overdue.map(Self.words) ?? "nothing"),
        ])
    }

    private static func words(_ overdue: OverdueExpiry) -> String {
        let count = DisplayText.count(overdue.count, "expired activity", "expired activities")
        let least = overdue.count < OverdueExpiry.countLimit ? "" : "at least "
        return "\(least)\(count), the first since \(DisplayText.span(overdue.age))"
    }

    private func row(_ table: PostgresHealth.Table) -> TemplateContext {
        [
            "table": .text(table.name), "tableRows": .text(DisplayText.count(table.rows)),
            "dead": .text(DisplayText.count(table.deadRows)),
            "size": .text(DisplayText.bytes(table.size)), "vacuumed": .optional(.moment(table.vacuumedAt, now)),
            "analyzed": .optional(.moment(table.analyzedAt, now)),
        ]
    }

    private func row(_ migration: AppliedMigration) -> TemplateContext {
        ["migration": .text(migration.name), "applied": .row(.moment(migration.appliedAt, now))]
    }

    private func row(_ setting: SettingInForce) -> TemplateContext {
        let isHidden = setting.isAboutDatabase && !isRoot
        return [
            "settingName": .text(setting.name), "settingOrigin": .optional(setting.value == nil ? nil : setting.origin),
            "settingValue": .text(isHidden ? "visible only to root" : setting.value ?? "not set"),
        ]
    }
}

extension PostgresHealth.Server {
    fileprivate var commitWaits: String {
        synchronousStandbys.isEmpty
            ? "its own disk" : "its own disk and \(synchronousStandbys) (\(DisplayText.count(standbys)) connected)"
    }
}
