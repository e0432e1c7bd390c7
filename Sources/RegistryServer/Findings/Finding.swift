import Foundation
import RegistryCore
import RegistryStore

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
        (self.code, self.detail, self.remedy) = (code, detail, remedy)
    }

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

extension Registry {
    package func findings(in scope: Scope, sweepInterval: Duration) async throws -> [Finding] {
        let guards = try await quarantineGuards(of: scope.app).filter { $0.environment == scope.environment }
        let sweep = try await overdueExpiry(in: scope).flatMap { Finding($0, in: scope, sweepInterval) }
        return guards.map { Finding($0, in: scope) } + [sweep].compactMap(\.self)
    }
}

extension Finding {
    package init?(_ key: APIKeyRecord, now: Date = Date()) {
        guard let end = key.expiresAt, key.expiresSoon(at: now) else { return nil }
        let owner = key.app.map { " of \($0)" } ?? ""
        self.init(
            .keyExpiring,
            "The \(key.id.role.rawValue) key \(key.id)\(owner) expires at \(RFC3339.format(end)).",
            remedy: "Create a new key with pushreg keys create, and deploy it before this time."
        )
    }

    fileprivate init(_ tripped: QuarantineGuard, in scope: Scope) {
        self.init(
            .burstGuard,
            """
            Many \(tripped.kind) tokens of \(scope.app.bundleID) in \(scope.environment.rawValue) were reported as bad \
            since \(RFC3339.format(tripped.trippedAt)), so tokens are not quarantined for now.
            """,
            remedy: "Check the topic, the key and the environment of the sender."
        )
    }

    fileprivate init?(_ overdue: OverdueExpiry, in scope: Scope, _ sweepInterval: Duration) {
        // An expiry is overdue only after ten intervals, because a sweep takes time.
        guard overdue.age > sweepInterval * 10 else { return nil }
        let least = overdue.count < OverdueExpiry.countLimit ? "" : "at least "
        let activities = overdue.count == 1 ? "1 activity" : "\(overdue.count) activities"
        let age = ISO8601Duration.format(.seconds(overdue.age.components.seconds))
        self.init(
            .sweepBehind,
            """
            The sweep is behind: \(least)\(activities) of \(scope.app.bundleID) in \(scope.environment.rawValue) expired \
            up to \(age) ago, and their expiry is not recorded.
            """,
            remedy: """
                Check that pushreg serve runs, and search its log for "a part of a sweep failed" and "a sweep was given up".
                """
        )
    }

    /// Fetches the keys of the app's issuer. Nil if they are usable, or without a `jwksUrl`.
    package static func aboutKeys(of app: App, allowsInternal: Bool) async -> Finding? {
        guard case .url(let url)? = JWTRequirements(app.settings.jwt)?.source else { return nil }
        do {
            let fetcher = KeySetFetcher(allowsInternal: allowsInternal)
            _ = try VerificationKeySet.read(try await fetcher.fetch(url))
            return nil
        } catch { return Finding(issuerOf: app.bundleID, failure: KeySetFetcher.reason(error)) }
    }

    init(issuerOf app: BundleID, failure: String) {
        self.init(
            .issuerKeys,
            "The jwksUrl of \(app) \(failure), so its signed-in users are refused.",
            remedy: "Set jwt.jwksUrl of the app to the URL of the issuer's JSON Web Key Set."
        )
    }
}

extension APIKeyRecord {
    package func state(at now: Date) -> String {
        if revokedAt != nil { return "revoked" }
        return isValid(at: now) ? "valid" : "expired"
    }

    func expiresSoon(at now: Date) -> Bool {
        // A key must be replaced two weeks before its expiry.
        isValid(at: now) && expiresAt.map { $0.timeIntervalSince(now) <= 14 * 86_400 } ?? false
    }
}
