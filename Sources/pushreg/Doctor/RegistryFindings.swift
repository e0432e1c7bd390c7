import Foundation
import RegistryCore
import RegistryStore

extension ServiceSettings {
    /// What is wrong with the settings in force.
    var findings: [Finding] {
        guard isInTheClear else { return [] }
        return [
            Finding(
                .noTLS,
                "Others reach the address \(host), and there is no TLS: keys and tokens travel readably.",
                remedy: "Give --tls-cert and --tls-key, or name the proxies that end TLS with --trusted-proxies."
            )
        ]
    }
}

extension Registry {
    /// After so many intervals without its being swept, something that expired is overdue: a sweep itself takes time.
    private static let toleratedIntervals = 10
    /// How long before its end a key is to be replaced.
    private static let keyNotice = 14.0 * 86_400

    /// What is wrong with an app's records.
    func findings(about app: App, _ settings: ServiceSettings) async throws -> [Finding] {
        var findings = try await quarantineGuards(of: app).map { tripped in
            Finding(
                .burstGuard,
                """
                So many \(tripped.kind) tokens of \(app.bundleID) in \(tripped.environment.rawValue) were reported as bad \
                since \(RFC3339.format(tripped.trippedAt)) that none is quarantined for now.
                """,
                remedy: "Check the topic, the key and the environment of the sender."
            )
        }
        for environment in APNSEnvironment.allCases {
            let overdue = try await overdueExpiry(in: Scope(app: app, environment: environment))
            guard let overdue, overdue.age > settings.sweepInterval * Self.toleratedIntervals else { continue }
            findings.append(sweepFinding(overdue, "\(app.bundleID) in \(environment.rawValue)"))
        }
        return findings
    }

    private func sweepFinding(_ overdue: OverdueExpiry, _ place: String) -> Finding {
        let least = overdue.count < OverdueExpiry.countLimit ? "" : "at least "
        let activities = overdue.count == 1 ? "1 activity" : "\(overdue.count) activities"
        let age = ISO8601Duration.format(.seconds(overdue.age.components.seconds))
        return Finding(
            .sweepBehind,
            "The sweep is behind: \(least)\(activities) of \(place) expired up to \(age) ago, which nobody wrote down.",
            remedy: "See that pushreg serve runs, and that its log has no \"a sweep was given up\"."
        )
    }

    /// Keys that work now and soon will not.
    func keyFindings() async throws -> [Finding] {
        let now = Date()
        return try await allKeys().compactMap { key in
            guard let end = key.expiresAt, key.isValid(at: now), end.timeIntervalSince(now) <= Self.keyNotice else {
                return nil
            }
            let owner = key.app.map { " of \($0)" } ?? ""
            return Finding(
                .keyExpiring,
                "The \(key.id.role.rawValue) key \(key.id)\(owner) expires at \(RFC3339.format(end)).",
                remedy: "Make its successor with pushreg keys create, and let its bearer have it before."
            )
        }
    }
}
