import RegistryStore

extension DatabaseCondition {
    /// Above the effect of networks and NTP. Times of the two clocks are compared.
    private static let greatestSkew = Duration.seconds(2)
    /// Above this share, a restart or another instance can run out of connections.
    private static let connectionShare = 0.8

    package var findings: [Finding] {
        serverFindings + durabilityFindings + vacuumFindings + (distribution?.findings ?? [])
    }

    private var durabilityFindings: [Finding] {
        unsafeSettings.map {
            let remedy = "Set \($0.setting) to on. Until then, the service refuses to work."
            return Finding(.unsafeDurability, $0.detail, remedy: remedy)
        }
    }

    private var serverFindings: [Finding] {
        let skew = clockSkew < .zero ? .zero - clockSkew : clockSkew
        let seconds = Int((skew / .seconds(1)).rounded())
        return [
            Finding(
                .postgresVersion,
                if: versionNumber < Self.leastVersion,
                "Postgres is version \(version), and the service needs \(Self.leastVersion / 10_000) or later.",
                remedy: "Upgrade it with pg_upgrade or a replica."
            ),
            Finding(
                .postgresReadOnly,
                if: isReadOnly,
                "Postgres does not accept writes: it is a standby, or default_transaction_read_only is on.",
                remedy: "List all hosts in the connection string, with target_session_attrs=read-write."
            ),
            Finding(
                .clockSkew,
                if: skew - clockUncertainty > Self.greatestSkew,
                "Postgres's clock is \(seconds) seconds \(clockSkew < .zero ? "behind" : "ahead of") this machine's.",
                remedy: "Synchronize both with NTP, and check them with timedatectl status."
            ),
            Finding(
                .connectionsNearLimit,
                if: Double(connections) >= Self.connectionShare * Double(connectionLimit),
                "\(connections) of the \(connectionLimit) connections that Postgres allows are in use.",
                remedy: "Lower --max-connections of the instances, close other connections, or raise max_connections."
            ),
        ].compactMap(\.self)
    }

    private var vacuumFindings: [Finding] {
        let neglected = neglectedTables.map { "\($0.name) (\($0.deadRows))" }.joined(separator: ", ")
        return [
            Finding(
                .autovacuumOff,
                if: !isAutovacuumOn,
                "Autovacuum is off, so tables grow and statements become slower.",
                remedy: "Set autovacuum and track_counts to on."
            ),
            Finding(
                .autovacuumBehind,
                if: !neglectedTables.isEmpty,
                "Autovacuum is behind: dead rows remain in \(neglected).",
                remedy: "Raise autovacuum_vacuum_cost_limit, and look for old transactions in pg_stat_activity."
            ),
            oldSnapshot.map { snapshot in
                Finding(
                    .oldSnapshot,
                    """
                    Autovacuum cannot remove dead rows, so statements become slower: the snapshot of \(snapshot.holder) is \
                    \(snapshot.age) transactions old.
                    """,
                    remedy: """
                        End the session with pg_terminate_backend, drop the slot, or finish the prepared transaction. Run \
                        dumps and reports on a standby without hot_standby_feedback.
                        """
                )
            },
        ].compactMap(\.self)
    }
}

extension Finding {
    package init?(migrating condition: DatabaseCondition) {
        guard !condition.mayCreateTables else { return nil }
        let (user, schema) = (condition.user, condition.schema)
        self.init(
            .schemaNotPermitted,
            schema.map { "The user \(user) may not create tables in the schema \($0), so pushreg migrate fails." }
                ?? "The user \(user) may not use any schema in search_path, so pushreg migrate fails.",
            remedy: """
                As the owner of the database: GRANT USAGE, CREATE ON SCHEMA \(schema ?? "public") TO "\(user)"
                """
        )
    }

    package init(_ shared: SharedSessions) { self.init(.transactionPooler, shared.detail, remedy: shared.remedy) }

    package init(_ error: SchemaError) {
        let code: Code =
            switch error {
            case .behind: .schemaBehind
            case .ahead: .schemaAhead
            case .changed: .schemaChanged
            case .encoding: .databaseEncoding
            }
        self.init(code, error.detail, remedy: error.remedy)
    }
}

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
