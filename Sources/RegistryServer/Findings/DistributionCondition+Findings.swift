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
            let detail = "These tables are not distributed, though others are: \(tables)."
            findings.append(Finding(.tablesNotDistributed, detail, remedy: remedy))
        }
        if !misplacedTables.isEmpty {
            findings.append(
                Finding(
                    .tablesMisplaced,
                    """
                    These tables are not where statements look for them: \(misplacedTables.joined(separator: ", ")). \
                    \(Self.referenceTables) must be reference tables, all others distributed by scope_id beside activities.
                    """,
                    remedy: "Give each to undistribute_table(), and run: pushreg migrate --distribute"
                )
            )
        }
        return findings
    }

    private var planFinding: Finding? {
        guard isDistributed, planCacheMode == "force_generic_plan" else { return nil }
        return Finding(
            .planCacheMode,
            "plan_cache_mode is force_generic_plan, by which Citus does not see which app a statement is about: calls fail.",
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
                    "The coordinator does not reach the worker \(name): the apps whose rows it has are not to be had.",
                    remedy: "Start it, or tell the coordinator its new place with citus_update_node()."
                )
            ]
        }
        guard !otherSettings.isEmpty else { return [] }
        let settings = otherSettings.sorted { $0.key < $1.key }.map { "\($0.key) = \($0.value)" }
            .joined(separator: ", ")
        return [
            Finding(
                .workerSettings,
                "Sessions of the service's role on the worker \(name) have \(settings), which is not what the service needs.",
                remedy: "Run: pushreg migrate --distribute"
            )
        ]
    }
}
