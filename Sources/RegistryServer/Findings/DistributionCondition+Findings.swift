import RegistryStore

extension DistributionCondition {
    fileprivate static let distribute = "Run: pushreg migrate --distribute"

    package var findings: [Finding] {
        guard isDistributed else {
            let detail = "The database has the extension citus, and the registry's tables are not distributed."
            return [Finding(.tablesNotDistributed, detail, remedy: Self.distribute)] + workers.flatMap(\.findings)
        }
        let own = [
            Finding(
                .tablesNotDistributed,
                if: !missingTables.isEmpty,
                "Some tables are distributed, but these are not: \(missingTables.joined(separator: ", ")).",
                remedy: Self.distribute
            ),
            Finding(
                .tablesMisplaced,
                if: !misplacedTables.isEmpty,
                """
                These tables are not distributed as statements require: \(misplacedTables.joined(separator: ", ")). \
                \(Self.referenceTables) must be reference tables, all others colocated with activities by scope_id.
                """,
                remedy: "Call undistribute_table() for each, and run: pushreg migrate --distribute"
            ),
            Finding(
                .planCacheMode,
                if: planCacheMode == "force_generic_plan",
                "plan_cache_mode is force_generic_plan, so Citus cannot find the app of a statement, and calls fail.",
                remedy: "Leave --plan-cache-mode out, or set it to auto."
            ),
        ]
        return own.compactMap(\.self) + workers.flatMap(\.findings)
    }
}

extension DistributionCondition.Worker {
    fileprivate var findings: [Finding] {
        let settings = otherSettings.sorted { $0.key < $1.key }.map { "\($0.key) = \($0.value)" }
        return [
            Finding(
                .workerUnreachable,
                if: !isReachable,
                "The coordinator does not reach the worker \(name), so the apps on this worker are unavailable.",
                remedy: "Start it, or set its new address with citus_update_node()."
            ),
            Finding(
                .workerSettings,
                if: isReachable && !settings.isEmpty,
                """
                Sessions of the service's role on the worker \(name) have \(settings.joined(separator: ", ")), \
                but the service needs other values.
                """,
                remedy: DistributionCondition.distribute
            ),
        ].compactMap(\.self)
    }
}
