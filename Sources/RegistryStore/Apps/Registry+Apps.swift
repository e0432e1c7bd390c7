import Foundation
import Logging
import PostgresDriver
import RegistryCore

extension Registry {
    /// Concurrent callers share a statement.
    package func app(_ bundleID: BundleID) async throws -> App? { try await appLookups.find(bundleID) }

    package func apps() async throws -> [App] {
        try await read { session in try session.execute(AppStatements.apps).decode(App.columns) }
    }

    /// - Throws: `invalidRequest` if tombstones would not outlive activities by an hour.
    package func put(
        _ changes: AppChanges,
        for bundleID: BundleID,
        by who: UTF8Text
    ) async throws -> (app: App, isNew: Bool) {
        try await makeEventPartition(of: bundleID, retention: changes.eventRetention)
        return try await write { session in
            try session.transaction { transaction in
                let put = try transaction.execute(AppStatements.put(changes, for: bundleID))[0]
                let (id, isNew) = try put.decode(Int64.self, Bool.self)
                let scopes = isNew ? [AppStatements.makeScopes(ofApp: id)] : []
                let event = EventStatements.aboutApp(isNew ? "app-created" : "app-changed", bundleID, by: who)
                let results = try transaction.pipeline(
                    scopes + [AppStatements.apps([bundleID]), event],
                    finishing: true
                )
                return (try results[scopes.count][0].decode(App.columns), isNew)
            }
        }
    }

    /// Nil if there is no such app.
    ///
    /// - Throws: `invalidRequest` if tombstones would not outlive activities by an hour.
    package func change(_ changes: AppChanges, of bundleID: BundleID, by who: UTF8Text) async throws -> App? {
        if let retention = changes.eventRetention { try await makeEventPartition(of: bundleID, retention: retention) }
        return try await write { session in
            try session.pipeline([
                AppStatements.change(changes, of: bundleID), AppStatements.apps([bundleID]),
                EventStatements.aboutApp("app-changed", bundleID, by: who),
            ])[1].decode(App.columns).first
        }
    }
}

extension App {
    static func find(_ session: borrowing PostgresSession, _ names: [BundleID]) throws -> [App?] {
        let apps = try session.execute(AppStatements.apps(names)).decode(App.columns)
        let byName = Dictionary(apps.map { ($0.bundleID, $0) }) { first, _ in first }
        return names.map { byName[$0] }
    }
}

enum AppStatements {
    static func apps(_ bundleIDs: [BundleID]) -> SQL {
        "SELECT \(App.columns) FROM apps stored WHERE stored.bundle_id = ANY(\(bundleIDs.map(\.rawValue)))"
    }

    static var apps: SQL { "SELECT \(App.columns) FROM apps stored ORDER BY stored.bundle_id" }

    /// Null keeps the stored value. Returns the app's id, and whether it is new: it then needs its scopes.
    static func put(_ changes: AppChanges, for bundleID: BundleID) -> SQL {
        let defaults = AppSettings()
        return """
            INSERT INTO apps AS stored (
                bundle_id, name, activity_lifetime, tombstone_retention, event_retention, alias_rules, jwt
            )
            VALUES (\(bundleID.rawValue), \(changes.name),
                \(changes.activityLifetime ?? defaults.activityLifetime),
                \(changes.tombstoneRetention ?? defaults.tombstoneRetention),
                \(changes.eventRetention ?? defaults.eventRetention), coalesce(\(rules(changes)), '{}'), \(jwt(changes)))
            ON CONFLICT (bundle_id) DO UPDATE SET \(sql: assignments(changes)), updated_at = excluded.updated_at
            RETURNING stored.app_id, stored.xmax = 0
            """
    }

    static func change(_ changes: AppChanges, of bundleID: BundleID) -> SQL {
        """
        UPDATE apps AS stored SET \(sql: assignments(changes)), updated_at = now()
        WHERE stored.bundle_id = \(bundleID.rawValue)
        """
    }

    static func makeScopes(ofApp id: Int64) -> SQL {
        "INSERT INTO scopes (app_id, environment) VALUES (\(id), 'sandbox'), (\(id), 'production')"
    }

    private static func assignments(_ changes: AppChanges) -> SQL {
        """
        name = coalesce(\(changes.name), stored.name),
        activity_lifetime = coalesce(\(changes.activityLifetime), stored.activity_lifetime),
        tombstone_retention = coalesce(\(changes.tombstoneRetention), stored.tombstone_retention),
        event_retention = coalesce(\(changes.eventRetention), stored.event_retention),
        alias_rules = coalesce(\(rules(changes)), stored.alias_rules),
        jwt = coalesce(\(jwt(changes)), stored.jwt)
        """
    }

    private static func rules(_ changes: AppChanges) -> JSONB? {
        changes.aliasRules.map { rules in
            let words = rules.map { ($0.key.string, JSONValue.string($0.value.rawValue)) }
            return JSONB(JSONValue.object(JSONObject(words)).canonicalBytes)
        }
    }

    private static func jwt(_ changes: AppChanges) -> JSONB? {
        changes.jwt.map { JSONB(JSONValue.object($0).canonicalBytes) }
    }
}

extension App {
    static let columns = Columns(
        .one("stored.app_id"),
        Columns(scopeID(in: .sandbox), scopeID(in: .production), as: ScopeIDs.init),
        Columns(.one("stored.bundle_id"), as: { BundleID(stored: $0) }),
        settings,
        .one("stored.created_at"),
        .one("stored.updated_at"),
        as: App.init
    )

    /// A lookup of its own: joined, all scopes would be read by a plan from a time with few.
    private static func scopeID(in environment: APNSEnvironment) -> Columns<Int64> {
        .one(
            """
            (SELECT s.scope_id FROM scopes s
            WHERE s.app_id = stored.app_id AND s.environment = '\(environment.rawValue)')
            """
        )
    }

    private static let settings = Columns(
        .one("stored.name"),
        .one("stored.activity_lifetime"),
        .one("stored.tombstone_retention"),
        .one("stored.event_retention"),
        Columns(.one("stored.alias_rules"), as: AliasRule.rules),
        Columns(.one("stored.jwt"), as: { (jwt: JSONB?) in try jwt.map(JSONObject.init(jsonb:)) }),
        as: AppSettings.init
    )
}

extension JSONObject {
    fileprivate init(jsonb: JSONB) throws {
        guard case .object(let object) = JSONValue(stored: jsonb.bytes) else {
            throw UnreadableRow(detail: "an app's settings are no JSON object")
        }
        self = object
    }
}

extension AliasRule {
    @Sendable fileprivate static func rules(_ stored: JSONB) throws -> [UTF8Text: AliasRule] {
        Dictionary(
            uniqueKeysWithValues: try JSONObject(jsonb: stored).compactMap { member in
                guard case .string(let word) = member.value, let rule = AliasRule(rawValue: word) else { return nil }
                return (UTF8Text(member.key), rule)
            }
        )
    }
}
