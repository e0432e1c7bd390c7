import Foundation
import RegistryCore
import RegistryStore

extension Registry {
    package func findings(in scope: Scope, sweepInterval: Duration) async throws -> [Finding] {
        let guards = try await quarantineGuards(of: scope.app).filter { $0.environment == scope.environment }
        let sweep = try await overdueExpiry(in: scope).flatMap { Finding($0, in: scope, sweepInterval) }
        return guards.map { Finding($0, in: scope) } + [sweep].compactMap(\.self)
    }
}

extension Finding {
    /// An expiry is overdue after this many sweep intervals, because a sweep takes time.
    private static let toleratedIntervals = 10

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
        guard overdue.age > sweepInterval * Self.toleratedIntervals else { return nil }
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
}

extension APIKeyRecord {
    /// How long before its expiry a key must be replaced, in seconds.
    private static let notice = 14.0 * 86_400

    package func state(at now: Date) -> String {
        if revokedAt != nil { return "revoked" }
        return isValid(at: now) ? "valid" : "expired"
    }

    func expiresSoon(at now: Date) -> Bool {
        isValid(at: now) && expiresAt.map { $0.timeIntervalSince(now) <= Self.notice } ?? false
    }
}

extension Finding {
    /// Fetches the keys of the app's issuer. Nil if they are usable, or without a `jwksUrl`.
    package static func aboutKeys(of app: App, allowsInternal: Bool) async -> Finding? {
        guard case .url(let url)? = JWTRequirements(app.settings.jwt)?.source else { return nil }
        do {
            let fetcher = KeySetFetcher(allowsInternal: allowsInternal)
            _ = try await VerificationKeySet.read(try await fetcher.fetch(url))
            return nil
        } catch {
            return Finding(issuerOf: app.bundleID, failure: KeySetFetcher.reason(error))
        }
    }

    init(issuerOf app: BundleID, failure: String) {
        self.init(
            .issuerKeys,
            "The jwksUrl of \(app) \(failure), so its signed-in users are refused.",
            remedy: "Set jwt.jwksUrl of the app to the URL of the issuer's JSON Web Key Set."
        )
    }
}
