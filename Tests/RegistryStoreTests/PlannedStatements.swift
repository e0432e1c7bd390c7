import Foundation
import PostgresDriver
import RegistryCore
import TestSupport

@testable import RegistryStore

/// Statements that are not in `sql/queries`, as units of work send them.
struct PlannedStatements {
    let name: String
    let statements: [SQL]
    /// Whether they read or write a bound of thousands of rows, so that their pages say nothing.
    var countsMany = false

    private static let alias = Alias.sample("orderId", "77")

    /// Each group is one transaction.
    static func all(in scope: Scope) -> [PlannedStatements] {
        plans(scope) + lookups(scope) + sweeps(scope) + erasures(scope) + purges(scope)
    }

    // MARK: Plans

    static func plan(of alias: Alias, in scope: Scope) -> PlanStatements {
        var request = PlanRequest(
            alias: alias,
            to: [.sample("orderId", "78")],
            attributesType: TestInstallation.types[0]
        )
        request.planID = "plan-1"
        return PlanStatements(request: request, scope: scope, who: "test")
    }

    private static func plans(_ scope: Scope) -> [PlannedStatements] {
        let plan = plan(of: alias, in: scope)
        let leases = LeaseStatements(scope: scope, who: "test")
        // The installation of activities 21 to 23: the SHA-256 of its number.
        let hashes = [Hexadecimal.decode("a3eb8db89fc5123ccfd49585059f292bc40a1c0d550b860f24f84efb4760fbf2") ?? []]
        let lease = LeaseID(stored: [UInt8](repeating: 7, count: 16))
        return [
            Self(
                name: "plan",
                statements: [plan.activities(after: 0, limit: 101), plan.installations(after: [], limit: 101)]
                    + [plan.take(hashes, after: 0), plan.event(hashes)]
            ),
            Self(
                name: "leases",
                statements: leases.fail([(lease, "503")]) + leases.release(lease)
                    + [LeaseStatements.deletion(of: alias, limit: 500, in: scope)]
                    + [LeaseStatements.sweep(limit: 10, in: scope)]
            ),
        ]
    }

    // MARK: Lookups

    static func tokenPage(of alias: Alias, _ kind: TokenKind, in scope: Scope) -> SQL {
        TokenResolveStatements.page(of: alias, kind, attributesType: nil, after: .start, limit: 100, in: scope)
    }

    private static func lookups(_ scope: Scope) -> [PlannedStatements] {
        let search = SearchStatements(scope: scope, limit: 100)
        let searches: [ActivitySearch] = [
            .id("activity-5"), .alias(kind: "orderId", value: "77"), .alias(kind: nil, value: "77"),
            .fingerprint([0x5D, 0xEE, 0x4D, 0xD6]), .installation([1, 2, 3, 4]),
        ]
        let overview = OverviewStatements(scope: scope)
        let life = ActivityLifeStatements(id: .sample("activity-5"), scope: scope)
        let explain = ExplainStatements(alias: alias, scope: scope)
        return [
            Self(
                name: "resolve",
                statements: [ResolveStatements.page(of: alias, after: 0, limit: 100, in: scope)]
                    + [ResolveStatements.range(of: alias, after: 0, through: 100, in: scope)]
                    + [ResolveStatements.key(of: alias, after: 0, count: 100, in: scope)]
                    + [ResolveStatements.resolve([alias], limitPerAlias: 100, limit: 1000, in: scope)]
                    + [ResolveStatements.activity(.sample("activity-5"), in: scope)]
                    + [tokenPage(of: alias, .start, in: scope), tokenPage(of: alias, .device, in: scope)]
            ),
            Self(name: "life", statements: [life.life, life.retired]),
            Self(
                name: "explain",
                statements: [explain.activities(after: .start, limit: 100), explain.tokens(installations: 50)]
                    + [explain.notes, ExplainedLeaseStatements(scope: scope).leases(of: alias, limit: 50)]
                    + [ExplainedLeaseStatements(scope: scope).leases(of: .sample(7), limit: 50)]
            ),
            Self(
                name: "search",
                statements: searches.map(search.activities)
                    + [search.installations([1, 2, 3, 4]), search.installations(under: alias)]
            ),
            // A hundred activities, each with all that is said of it.
            Self(name: "newest", statements: [ActivitySearch.running, .over].map(search.activities), countsMany: true),
            Self(
                name: "overview",
                statements: [overview.isUsed, overview.installations(after: (.minutesAgo(-60), [0xFF]), limit: 10)]
            ),
        ]
    }

    // MARK: Sweep and erasure

    private static func sweeps(_ scope: Scope) -> [PlannedStatements] {
        let sweep = SweepStatements(scope: scope)
        let installations = InstallationSweepStatements(scope: scope)
        let (ids, digests) = (
            [ActivityID.sample("activity-5"), .sample("activity-6")], [[UInt8](repeating: 1, count: 32)]
        )
        return [
            Self(
                name: "sweep",
                statements: [sweep.expired(limit: 10), sweep.tombstones(limit: 10)]
                    + [sweep.deleteUnclaimedValues(limit: 10), sweep.staleIdentities(limit: 10)]
                    + [sweep.deleteIdentities([("activity-5", "app")])] + sweep.recordExpiry(of: ids)
                    + [sweep.deleteValues(of: ids)] + sweep.delete(ids)
            ),
            Self(
                name: "sweep of installations",
                statements: [installations.deleteRemovedTokens(limit: 10), installations.deleteUnheldValues(limit: 10)]
                    + [installations.emptyInstallations(from: [0x80], limit: 10)] + installations.delete(digests)
            ),
        ]
    }

    private static func erasures(_ scope: Scope) -> [PlannedStatements] {
        let subjects: [(name: String, subject: ErasureSubject)] = [
            ("an alias", .alias(alias)), ("a Live Activity", .alias(.sample(Alias.liveActivityKind.string, "77"))),
            ("an installation", .installation(.sample(7))), ("a user", .subject("u-7")),
        ]
        return subjects.map { name, subject in
            let erasure = ErasureStatements(subject: subject, scope: scope)
            let ids = [ActivityID.sample("activity-5")]
            return Self(
                name: "erasure of \(name)",
                statements: [erasure.remember, erasure.activities(limit: 500), erasure.redactEvents(of: ids)]
                    + erasure.withhold(ids) + erasure.forget(ids) + [erasure.installations(limit: 500)]
                    + [erasure.identities(limit: 50)].compactMap(\.self)
                    + [AuditEventStatements.preferIndexes]
                    + erasure.delete(installations: [[UInt8](repeating: 7, count: 32)]) + erasure.deleteRest
            )
        }
    }
    private static func purges(_ scope: Scope) -> [PlannedStatements] {
        TokenKind.all.map { kind in
            let stale = StaleStatements(kind: kind, filter: StaleFilter(), scope: scope)
            let purge = PurgeStatements(stale: stale, who: "test")
            let statements = purge.locks([5, 6]) + [stale.remaining([5, 6])] + purge.purge([5, 6])
            return Self(name: "purge of \(kind.name) tokens", statements: statements)
        }
    }
}
