import RegistryStore

extension DistributionCondition {
    package var findings: [Finding] {
        tableFindings + [planFinding].compactMap(\.self) + workers.flatMap(\.findings)
    }

    private var tableFindings: [Finding] {
        let remedy = "Run: pushreg migrate --distribute"
        guard isDistributed else {
            let detail = "The database has the extension citus, and the registry's tables are not distributed."
            return [Finding(.tablesNotDistributed, detail, remedy: remedy)]
        }
        var findings: [Finding] = []
        if !missingTables.isEmpty {
            let tables = missingTables.joined(separator: ", ")
            let detail = "Some tables are distributed, but these are not: \(tables)."
            findings.append(Finding(.tablesNotDistributed, detail, remedy: remedy))
        }
        if !misplacedTables.isEmpty {
            findings.append(
                Finding(
                    .tablesMisplaced,
                    """
                    These tables are not distributed as statements require: \(misplacedTables.joined(separator: ", ")). \
                    \(Self.referenceTables) must be reference tables, all others colocated with activities by scope_id.
                    """,
                    remedy: "Call undistribute_table() for each, and run: pushreg migrate --distribute"
                )
            )
        }
        return findings
    }

    private var planFinding: Finding? {
        guard isDistributed, planCacheMode == "force_generic_plan" else { return nil }
        return Finding(
            .planCacheMode,
            "plan_cache_mode is force_generic_plan, so Citus cannot find the app of a statement, and calls fail.",
            remedy: "Leave --plan-cache-mode out, or set it to auto."
        )
    }
}

extension DistributionCondition.Worker {
    fileprivate var findings: [Finding] {
        guard isReachable else {
            return [
                Finding(
                    .workerUnreachable,
                    "The coordinator does not reach the worker \(name), so the apps on this worker are unavailable.",
                    remedy: "Start it, or set its new address with citus_update_node()."
                )
            ]
        }
        guard !otherSettings.isEmpty else { return [] }
        let settings = otherSettings.sorted { $0.key < $1.key }.map { "\($0.key) = \($0.value)" }
            .joined(separator: ", ")
        return [
            Finding(
                .workerSettings,
                "Sessions of the service's role on the worker \(name) have \(settings), but the service needs other values.",
                remedy: "Run: pushreg migrate --distribute"
            )
        ]
    }
}
