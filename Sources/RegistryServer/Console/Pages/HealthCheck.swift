import RegistryCore
import RegistryStore

struct HealthCheck: Sendable {
    let isGood: Bool
    let sentence: String
    /// For checks that are not good.
    let more: (name: String, path: String)?

    init(_ isGood: Bool, _ sentence: String, more: (String, String)? = nil) {
        self.isGood = isGood
        self.sentence = sentence
        self.more = more
    }

    /// One check per finding, or one good check without findings.
    static func checks(
        _ findings: [Finding],
        orElse sentence: String,
        more: (String, String)? = nil
    ) -> [HealthCheck] {
        findings.isEmpty ? [HealthCheck(true, sentence)] : findings.map { HealthCheck($0, more: more) }
    }

    private init(_ isGood: Bool, _ good: String, orElse bad: String, see path: String) {
        self.init(isGood, isGood ? good : bad, more: ("See them", path))
    }

    init(_ finding: Finding, more: (String, String)? = nil) {
        self.init(false, "\(finding.detail) \(finding.remedy)", more: more)
    }

    static func summary(_ checks: [HealthCheck]) -> String {
        let bad = checks.filter { !$0.isGood }.count
        if bad == 0 { return "All is well." }
        return bad == 1 ? "One check needs attention." : "\(bad) checks need attention."
    }
}

extension HealthCheck {
    /// Below this number, shares mean little.
    private static let fewest = 20

    static func unconfirmed(_ statistics: RegistryStatistics, _ link: ConsoleLink) -> HealthCheck {
        let tokens = statistics.tokens.first { $0.kind == .update }
        let late = zip(RegistryStatistics.emptyAges, tokens?.ages ?? []).filter { group, _ in
            group.upTo.map { $0 > .seconds(2 * 3600) } ?? true
        }
        let (count, total) = (late.map(\.1.count).reduce(0, +), tokens?.count ?? 0)
        guard total >= fewest else {
            return HealthCheck(true, "Too few activity tokens to judge how many of them clients confirm.")
        }
        return HealthCheck(
            count * 4 <= total,
            "Clients have confirmed most activity tokens within 2 hours.",
            orElse: """
                \(DisplayText.share(count, of: total)) of the activity tokens have been unconfirmed for 2 hours: \
                check that the apps can send refreshes.
                """,
            see: link.page("stale", [("kind", "update"), ("reason", "unconfirmed")])
        )
    }

    static func drops(_ statistics: RegistryStatistics, _ link: ConsoleLink) -> HealthCheck {
        func sum(_ types: [String]) -> Int {
            statistics.steps.flatMap { step in types.map { step.counts[$0] ?? 0 } }.reduce(0, +)
        }
        let (drops, arrivals) = (sum(["dropped", "quarantined"]), sum(["registered", "rotated", "reactivated"]))
        return HealthCheck(
            drops < fewest || drops * 4 <= arrivals,
            "APNs rejects few tokens.",
            orElse: """
                APNs rejected \(DisplayText.count(drops, "token")) while \(DisplayText.count(arrivals)) came: \
                check the sender's topic and environment.
                """,
            see: link.search("event:dropped")
        )
    }

    static func isNearQuota(_ channels: Int) -> Bool { channels * 10 >= Registry.channelQuota * 8 }

    static func channels(_ count: Int, _ link: ConsoleLink) -> HealthCheck {
        let quota = DisplayText.count(Registry.channelQuota)
        return HealthCheck(
            !isNearQuota(count),
            "\(DisplayText.count(count, "channel")) of APNs's \(quota) are in use.",
            orElse: "\(DisplayText.count(count)) of APNs's \(quota) channels are in use: delete unused channels.",
            see: link.page("channels")
        )
    }
}
