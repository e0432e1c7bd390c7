import Foundation
import Logging
import PostgresDriver
import RegistryCore

extension Registry {
    /// Concurrent callers share a statement.
    package func app(_ bundleID: BundleID) async throws -> App? { try await appLookups.submit(bundleID) }

    package func apps() async throws -> [App] {
        try await read { session in try session.run("apps.list").decode(App.self) }
    }

    /// - Throws: `invalidRequest` if tombstones would not outlive activities by an hour.
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

    /// - Returns: nil if the app is unknown.
    /// - Throws: `invalidRequest` if tombstones would not outlive activities by an hour.
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
                let event = App.event(inserted == nil ? "app-changed" : "app-created", bundleID, by: who)
                let find = Query("apps.find")(["bundle_ids": [bundleID.rawValue]])
                return try transaction.pipeline([change, find, event], finishing: true)[1].decode(App.self).first
                    .map { ($0, inserted != nil) }
            }
        }
    }

    /// - Throws: `invalidRequest` for a kind that has tokens and is removed or gets another holder.
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

extension App {
    static func find(_ session: borrowing PostgresSession, _ names: [BundleID]) throws -> [App?] {
        let apps = try session.run("apps.find", ["bundle_ids": names.map(\.rawValue)]).decode(App.self)
        let byName = Dictionary(apps.map { ($0.bundleID, $0) }) { first, _ in first }
        return names.map { byName[$0] }
    }

    fileprivate static func event(_ type: String, _ bundleID: BundleID, by who: UTF8Text) -> SQL {
        Query("apps.insert-events")(["type": type, "who": who, "bundle_id": bundleID.rawValue])
    }
}

extension App: DecodableRow {
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
