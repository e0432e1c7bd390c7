import Foundation
import RegistryCore
import RegistryStore

extension ConsoleCall {
    private static let windows = [
        ("PT1H", "1 h"), ("PT6H", "6 h"), ("PT24H", "24 h"), ("P7D", "7 d"), ("P30D", "30 d"),
    ]

    /// `GET …`: whether all is well, and what went on.
    func showOverview() async throws -> Answer {
        let scope = try requireScope()
        let link = ConsoleLink(scope)
        let chosen = Self.windows.first { $0.0 == parameter("window") } ?? Self.windows[2]
        let window = ISO8601Duration.parse(chosen.0) ?? .seconds(86_400)
        let counted = try await console.recent.statistics(over: window, in: scope, registry)
        let checks = try await findChecks(of: scope, counted)
        return try page(
            "overview",
            part: "Overview",
            title: "Overview",
            [
                "checks": .rows(checks.map(\.fields)), "summary": .text(HealthCheck.summary(checks)),
                "isWell": .flag(checks.allSatisfy(\.isGood)), "kinds": .rows(kinds(counted)),
                "states": .list(Self.states(counted)), "charts": .rows(charts(counted)),
                "windows": .rows(
                    Self.windows.map { value, label in
                        [
                            "windowText": .text(label), "windowPath": .text(link.overview([("window", value)])),
                            "isChosenWindow": .flag(value == chosen.0),
                        ]
                    }
                ),
                "computed": .row(.moment(counted.computedAt, now)), "isEstimated": .flag(counted.isEstimated),
                "windowName": .text(Words.span(window)),
            ]
        )
    }

    private func charts(_ statistics: RegistryStatistics) -> [Fields] {
        ColumnChart.subjects.map { ColumnChart($0, statistics).fields }
    }

    /// Live tokens by kind, with the share that clients confirmed lately.
    private func kinds(_ statistics: RegistryStatistics) -> [Fields] {
        let most = max(1, statistics.tokens.map(\.count).max() ?? 0)
        return statistics.tokens.map { tokens in
            [
                "liveKind": .text(tokens.kind.name), "liveName": .text(tokens.kind.sentence),
                "liveCount": .text(Words.count(tokens.count)),
                "liveWidth": .text(String(format: "%.2f", 100 * Double(tokens.count) / Double(most))),
            ]
        }
    }

    private static func states(_ statistics: RegistryStatistics) -> [Fields] {
        ActivityState.allCases.map { state in
            [
                "stateName": .text(state.rawValue),
                "stateCount": .text(Words.count(statistics.activities[state.rawValue] ?? 0)),
            ]
        }
    }

    private func findChecks(of scope: Scope, _ statistics: RegistryStatistics) async throws -> [HealthCheck] {
        let link = ConsoleLink(scope)
        let guards = try await registry.quarantineGuards(of: scope.app).filter { $0.environment == scope.environment }
        let backlog = try await registry.sweepBacklog(in: scope)
        let channels = try await registry.channelCounts(in: scope).channels
        let stale = try await console.recent.staleCounts(in: scope, registry)
        var checks = [
            await readiness(), HealthCheck.unconfirmed(statistics, link), .drops(statistics, link),
            .guards(guards), .cloned(stale, link), .backlog(backlog, link), .channels(channels, link),
        ]
        if Access.keyCalls.allows(principal) {
            checks.append(.keys(try await registry.keys(of: scope.app), now, link))
        }
        return checks
    }

    private func readiness() async -> HealthCheck {
        do {
            let readiness = try await registry.checkReadiness()
            return HealthCheck(
                true,
                "Postgres \(readiness.serverVersion) takes writes, and its schema is the right one."
            )
        } catch {
            return HealthCheck(false, (error as? Problem)?.detail ?? "Postgres could not be asked.")
        }
    }
}

extension TokenKind {
    /// What it is for.
    fileprivate var sentence: String {
        switch holder {
        case .activity: "running activities"
        case .attributesType: "push to start"
        case .installation: "ordinary notifications"
        }
    }
}
