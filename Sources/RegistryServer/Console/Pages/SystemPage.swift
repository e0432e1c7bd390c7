import Foundation
import RegistryCore
import RegistryStore

extension ConsoleCall {
    func showSystem() async throws -> Response {
        let health = try await registry.health()
        let (applied, needed) = (health.migrations.last?.version ?? 0, SchemaMigrator.currentVersion)
        return try page(
            "system",
            [
                "version": console.configuration.version, "health": health, "findings": health.condition.findings,
                "uptime": Duration.seconds(now.timeIntervalSince(console.startedAt)),
                "serverUptime": Duration.seconds(now.timeIntervalSince(health.server.startedAt)),
                "applied": applied, "needed": needed, "isCurrent": applied == needed,
                "lastSweep": console.sweeps.last, "overdue": try await registry.overdueExpiry(in: scope),
                "settings": console.configuration.settingsInForce.map(row),
            ]
        )
    }

    private func row(_ setting: SettingInForce) -> TemplateContext {
        let isHidden = setting.isAboutDatabase && !isRoot
        return [
            "name": setting.name, "origin": setting.value == nil ? nil : setting.origin,
            "value": isHidden ? "visible only to root" : setting.value ?? "not set",
        ]
    }
}

extension OverdueExpiry: Presentable {
    static var computed: Properties { ["activities": \.activities] }

    private var activities: String {
        let activities = DisplayText.count(count, "expired activity", "expired activities")
        return count < Self.countLimit ? activities : "at least \(activities)"
    }
}

extension PostgresHealth.Server: Presentable {
    static var computed: Properties {
        ["hitShare": \.hitShare, "rollbackShare": \.rollbackShare, "isReplicated": \.isReplicated]
    }

    private var hitShare: String { DisplayText.share(blocksHit, of: blocksHit + blocksRead) }
    private var rollbackShare: String { DisplayText.share(rollbacks, of: commits + rollbacks) }
    private var isReplicated: Bool { !synchronousStandbys.isEmpty }
}
