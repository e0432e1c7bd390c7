import Logging
import PostgresDriver
import RegistryCore

extension Registry {
    /// Concurrent callers share a statement.
    package func app(_ bundleID: BundleID) async throws -> App? { try await appLookups.submit(bundleID) }
    package func apps() async throws -> [App] { try await read { try $0.run("apps.list").decode() } }

    package func put(
        _ changes: AppChanges,
        for bundleID: BundleID,
        by who: UTF8Text
    ) async throws -> (app: App, isNew: Bool) {
        guard let stored = try await write(changes, of: bundleID, creates: true, by: who) else {
            throw Problem(.unavailable, "The app was deleted meanwhile. Send the same request again.")
        }
        return stored
    }

    package func change(_ changes: AppChanges, of bundleID: BundleID, by who: UTF8Text) async throws -> App? {
        try await write(changes, of: bundleID, creates: false, by: who)?.app
    }

    private func write(
        _ changes: AppChanges,
        of bundleID: BundleID,
        creates: Bool,
        by who: UTF8Text
    ) async throws -> (app: App, isNew: Bool)? {
        if creates || changes.eventRetention != nil {
            try await makeEventPartition(of: bundleID, retention: changes.eventRetention)
        }
        return try await write { session in
            try Self.checkKinds(changes, of: bundleID, session)
            return try session.transaction { transaction in
                let settings = changes.values(for: bundleID, else: AppSettings())
                let inserted = creates ? try transaction.run("apps.insert", settings).decode(Int64.self).first : nil
                let change =
                    inserted.map { Query("apps.insert-scopes")(["app": $0]) }
                    ?? Query("apps.update")(changes.values(for: bundleID))
                let event = Query("apps.insert-events")([
                    "type": inserted == nil ? "app-changed" : "app-created", "who": who, "bundle_id": bundleID.rawValue,
                ])
                let find = Query("apps.find")(["bundle_ids": [bundleID.rawValue]])
                return try transaction.pipeline([change, find, event], finishing: true)[1].decode(App.self).first
                    .map { ($0, inserted != nil) }
            }
        }
    }

    private static func checkKinds(
        _ changes: AppChanges,
        of bundleID: BundleID,
        _ session: borrowing PostgresSession
    ) throws {
        guard let kinds = changes.tokenKinds, let app = try App.find(session, [bundleID])[0] else { return }
        let removed = app.settings.tokenKinds.filter { old in
            !kinds.contains { $0 == old && $0.holder == old.holder }
        }
        for environment in APNSEnvironment.allCases where !removed.isEmpty {
            let values: QueryValues = ["scope": app.scopeIDs[environment], "kinds": removed.map(\.name)]
            guard let name = try session.run("apps.find-used-kinds", values).decode({ try $0["kind"] as String }).first
            else { continue }
            let detail = "must keep '\(name)' and its 'per' while tokens of this kind exist; purge them first"
            throw Problem(faults: [JSONFault(pointer: "/tokenKinds", detail: detail)])
        }
    }

    /// The app becomes unknown at once. Small transactions delete its rows. After an interruption, a sweep continues:
    /// see ``finishDeletions()``. Returns false if the app is unknown.
    package func deleteApp(_ bundleID: BundleID, by who: UTF8Text) async throws -> Bool {
        let id = try await write { session in
            try session.run("apps.delete", ["bundle_id": bundleID.rawValue]).decode { try $0["app_id"] as Int64 }.first
        }
        guard let id else { return false }
        units.logger.notice("app \(bundleID) was deleted by \(who)")
        try await deleteRows(ofApp: id)
        return true
    }

    package func finishDeletions() async throws -> Int {
        let unfinished = try await read { try $0.run("apps.list-deleted").decode { try $0["app_id"] as Int64 } }
        for app in unfinished { try await deleteRows(ofApp: app) }
        return unfinished.count
    }

    private func deleteRows(ofApp app: Int64) async throws {
        // A writer that read the app before its deletion may still write rows.
        try await waitForWriters()
        let scopes = try await read {
            try $0.run("apps.list-scopes", ["app": app]).decode { try $0["scope_id"] as Int64 }
        }
        for scope in scopes { try await deleteRows(of: scope) }
        try await write { session in
            let app: QueryValues = ["app": app]
            _ = try session.pipeline([Query("apps.delete-keys")(app), Query("apps.finish-deletion")(app)])
        }
    }

    private func deleteRows(of scope: Int64) async throws {
        for table in AppTables.scanned {
            let end = try await read { try TableSizes.pages(of: table, holding: scope, $0) }
            for page in stride(from: 0, to: end, by: AppTables.pagesPerStatement) {
                let deletion = AppTables.delete(scope, from: table, firstPage: page)
                _ = try await write { try $0.execute(deletion).affectedRows }
            }
        }
        for table in AppTables.indexed { try await writePages(AppTables.delete(scope, from: table)) }
    }
}

extension AppChanges {
    /// The parameters of a query that writes an app. A missing value comes from `defaults`, or is null without them.
    fileprivate func values(for bundleID: BundleID, else defaults: AppSettings? = nil) -> QueryValues {
        [
            "bundle_id": bundleID.rawValue, "name": name,
            "activity_lifetime": activityLifetime ?? defaults?.activityLifetime,
            "tombstone_retention": tombstoneRetention ?? defaults?.tombstoneRetention,
            "event_retention": eventRetention ?? defaults?.eventRetention,
            "alias_rules": (aliasRules ?? defaults?.aliasRules).map(Self.json),
            "token_kinds": (tokenKinds ?? defaults?.tokenKinds).map(Self.json),
            "jwt": jwt.map { JSONB(JSONValue.object($0).canonicalBytes) },
        ]
    }

    private static func json(_ kinds: [TokenKind]) -> JSONB {
        var json = JSONWriter()
        json.value(kinds)
        return JSONB(json.bytes)
    }

    private static func json(_ rules: [UTF8Text: AliasRule]) -> JSONB {
        let words = rules.map { ($0.key.string, JSONValue.string($0.value.rawValue)) }
        return JSONB(JSONValue.object(JSONObject(words)).canonicalBytes)
    }
}

extension App: DecodableRow {
    static func find(_ session: borrowing PostgresSession, _ names: [BundleID]) throws -> [App?] {
        let apps = try session.run("apps.find", ["bundle_ids": names.map(\.rawValue)]).decode(App.self)
        let byName = Dictionary(apps.map { ($0.bundleID, $0) }) { first, _ in first }
        return names.map { byName[$0] }
    }

    package init(row: NamedRow) throws {
        var settings = AppSettings()
        settings.name = try row["name"]
        settings.activityLifetime = try row["activity_lifetime"]
        settings.tombstoneRetention = try row["tombstone_retention"]
        settings.eventRetention = try row["event_retention"]
        settings.aliasRules = try AliasRule.rules(try row["alias_rules"])
        settings.tokenKinds = TokenKind.settings(stored: .object(try JSONObject(jsonb: try row["token_kinds"])))
        settings.jwt = try (row["jwt"] as JSONB?).map(JSONObject.init(jsonb:))
        self.init(
            id: try row["app_id"],
            scopeIDs: ScopeIDs(sandbox: try row["sandbox"], production: try row["production"]),
            bundleID: BundleID(stored: try row["bundle_id"]),
            settings: settings,
            createdAt: try row["created_at"],
            updatedAt: try row["updated_at"]
        )
    }
}

extension JSONObject {
    fileprivate init(jsonb: JSONB) throws {
        guard case .object(let object) = JSONValue(stored: jsonb.bytes) else {
            throw UnreadableRow(detail: "an app's settings are not a JSON object")
        }
        self = object
    }
}

extension AliasRule {
    fileprivate static func rules(_ stored: JSONB) throws -> [UTF8Text: AliasRule] {
        Dictionary(
            uniqueKeysWithValues: try JSONObject(jsonb: stored).compactMap { member in
                guard case .string(let word) = member.value, let rule = AliasRule(rawValue: word) else { return nil }
                return (UTF8Text(member.key), rule)
            }
        )
    }
}

enum AppTables {
    static let indexed = [
        "alias_identities", "installation_tokens", "installation_aliases", "installations",
        "channels", "channel_quotas", "quarantine_guards", "events", "counts",
    ]

    /// Tables without an index on all rows of a scope. They are read once, in ranges of pages.
    static let scanned = ["activity_aliases", "token_values", "activities", "erasures", "start_leases"]

    /// Pages of 8 KiB per statement: 16 MiB.
    static let pagesPerStatement = 2048

    static func delete(_ scope: Int64, from table: String) -> SQL {
        """
        DELETE FROM \(unescaped: table) WHERE scope_id = \(scope) AND (tableoid, ctid) IN (
            SELECT tableoid, ctid FROM \(unescaped: table) WHERE scope_id = \(scope) LIMIT 10000
        )
        """
    }

    static func delete(_ scope: Int64, from table: String, firstPage page: Int) -> SQL {
        """
        DELETE FROM \(unescaped: table) d
        WHERE d.scope_id = \(scope) AND d.ctid >= \("(\(page),0)")::text::tid
            AND d.ctid < \("(\(page + pagesPerStatement),0)")::text::tid
        """
    }
}
