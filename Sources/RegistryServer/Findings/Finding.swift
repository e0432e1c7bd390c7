import RegistryCore

package struct Finding: Sendable, Hashable {
    package enum Code: String, Sendable, Hashable, CaseIterable {
        case postgresUnavailable = "postgres-unavailable"
        case postgresVersion = "postgres-version"
        case postgresReadOnly = "postgres-read-only"
        case unsafeDurability = "unsafe-durability"
        case clockSkew = "clock-skew"
        case connectionsNearLimit = "connections-near-limit"
        case autovacuumOff = "autovacuum-off"
        case autovacuumBehind = "autovacuum-behind"
        case oldSnapshot = "old-snapshot"
        case schemaBehind = "schema-behind"
        case schemaAhead = "schema-ahead"
        case schemaChanged = "schema-changed"
        case tablesNotDistributed = "tables-not-distributed"
        case tablesMisplaced = "tables-misplaced"
        case planCacheMode = "plan-cache-mode"
        case workerUnreachable = "worker-unreachable"
        case workerSettings = "worker-settings"
        case sweepBehind = "sweep-behind"
        case burstGuard = "burst-guard"
        case keyExpiring = "key-expiring"
        case noTLS = "no-tls"
        case tlsFiles = "tls-files"
        case transactionPooler = "transaction-pooler"
        case schemaNotPermitted = "schema-not-permitted"
        case databaseEncoding = "database-encoding"
        case listenAddress = "listen-address"
        case issuerKeys = "issuer-keys"
        case consoleSignIn = "console-sign-in"

        package var stopsService: Bool {
            switch self {
            case .postgresUnavailable, .unsafeDurability, .schemaBehind, .schemaAhead, .schemaChanged,
                .schemaNotPermitted, .databaseEncoding, .listenAddress, .tlsFiles, .transactionPooler:
                true
            default: false
            }
        }
    }

    package let code: Code
    /// Without secrets.
    package let detail: String
    package let remedy: String

    package init(_ code: Code, _ detail: String, remedy: String) {
        self.code = code
        self.detail = detail
        self.remedy = remedy
    }

    /// Nil if the condition does not hold.
    init?(_ code: Code, if holds: Bool, _ detail: String, remedy: String) {
        guard holds else { return nil }
        self.init(code, detail, remedy: remedy)
    }
}

extension Finding: JSONObjectEncodable {
    package func writeMembers(to json: inout JSONWriter) {
        json.member("code", code.rawValue)
        json.member("detail", detail)
        json.member("remedy", remedy)
    }
}
