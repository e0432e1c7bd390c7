import Foundation
import PostgresDriver
import RegistryCore

/// The statements about apps and their settings.
enum AppStatements {
    private static let columns = """
        stored.app_number, stored.bundle_id, stored.name, stored.activity_lifetime, stored.tombstone_retention, \
        stored.event_retention, stored.alias_rules, stored.jwt, stored.created_at, stored.updated_at
        """

    static func apps(_ bundleIDs: [BundleID]) -> SQL {
        "SELECT \(unescaped: columns) FROM apps stored WHERE stored.bundle_id = ANY(\(bundleIDs.map(\.rawValue)))"
    }

    static var apps: SQL { "SELECT \(unescaped: columns) FROM apps stored ORDER BY stored.bundle_id" }

    /// Makes the app or changes its settings; null keeps what is there. The last column says whether it is new.
    static func put(_ changes: AppChanges, for bundleID: BundleID) -> SQL {
        let rules = changes.aliasRules.map { rules in
            JSONB(
                JSONValue.object(JSONObject(rules.map { ($0.key.string, .string($0.value.rawValue)) })).canonicalBytes
            )
        }
        let jwt = changes.jwt.map { JSONB(JSONValue.object($0).canonicalBytes) }
        let defaults = AppSettings()
        return """
            INSERT INTO apps AS stored (
                bundle_id, name, activity_lifetime, tombstone_retention, event_retention, alias_rules, jwt
            )
            VALUES (\(bundleID.rawValue), \(changes.name),
                \(changes.activityLifetime ?? defaults.activityLifetime),
                \(changes.tombstoneRetention ?? defaults.tombstoneRetention),
                \(changes.eventRetention ?? defaults.eventRetention), coalesce(\(rules), '{}'), \(jwt))
            ON CONFLICT (bundle_id) DO UPDATE SET
                name = coalesce(\(changes.name), stored.name),
                activity_lifetime = coalesce(\(changes.activityLifetime), stored.activity_lifetime),
                tombstone_retention = coalesce(\(changes.tombstoneRetention), stored.tombstone_retention),
                event_retention = coalesce(\(changes.eventRetention), stored.event_retention),
                alias_rules = coalesce(\(rules), stored.alias_rules),
                jwt = coalesce(\(jwt), stored.jwt),
                updated_at = excluded.updated_at
            RETURNING \(unescaped: columns), stored.xmax = 0
            """
    }
}

extension App {
    init(_ row: PostgresRow) throws {
        guard let bundleID = try? BundleID(row.column(1, as: String.self)) else {
            throw UnreadableRow(detail: "an app's bundle id is not one")
        }
        let rules = try JSONObject(jsonb: row.column(6, as: JSONB.self))
        self.init(
            number: try row.column(0, as: Int64.self),
            bundleID: bundleID,
            settings: AppSettings(
                name: try row.column(2, as: String?.self),
                activityLifetime: try row.column(3, as: Duration.self),
                tombstoneRetention: try row.column(4, as: Duration.self),
                eventRetention: try row.column(5, as: Duration.self),
                aliasRules: Dictionary(uniqueKeysWithValues: rules.compactMap(AliasRule.pair)),
                jwt: try row.column(7, as: JSONB?.self).map(JSONObject.init(jsonb:))
            ),
            createdAt: try row.column(8, as: Date.self),
            updatedAt: try row.column(9, as: Date.self)
        )
    }
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
    fileprivate static func pair(_ member: JSONObject.Element) -> (UTF8Text, AliasRule)? {
        guard case .string(let word) = member.value, let rule = AliasRule(rawValue: word) else { return nil }
        return (UTF8Text(member.key), rule)
    }
}
