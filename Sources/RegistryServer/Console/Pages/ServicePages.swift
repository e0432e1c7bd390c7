import Foundation
import HTTPTypes
import RegistryCore
import RegistryStore

extension ConsoleCall {
    private static let windows = ["PT1H", "PT6H", "PT24H", "P7D", "P30D"]

    func showOverview() async throws -> Response {
        let scope = try scope
        let chosen = Self.windows.first { $0 == parameter("window") } ?? "PT24H"
        let window = ISO8601Duration.parse(chosen) ?? .seconds(86_400)
        let counted = try await registry.statistics(over: window, in: scope)
        let checks = try await findChecks(of: scope, counted)
        let most = Double(max(1, counted.tokens.map(\.count).max() ?? 0))
        return try page(
            "overview",
            [
                "checks": checks, "summary": HealthCheck.summary(checks), "isWell": checks.allSatisfy(\.isGood),
                "counted": counted, "charts": ColumnChart.subjects.map { ColumnChart($0, counted) },
                "kinds": counted.tokens.map {
                    (tokens: $0, name: $0.kind.sentence, width: String(format: "%.2f", 100 * Double($0.count) / most))
                },
                "states": ActivityState.allCases.map { (name: $0, count: counted.activities[$0.rawValue] ?? 0) },
                "windows": Self.windows.map { (value: $0, span: ISO8601Duration.parse($0), isChosen: $0 == chosen) },
            ]
        )
    }

    private func findChecks(of scope: Scope, _ statistics: RegistryStatistics) async throws -> [HealthCheck] {
        let link = ConsoleLink(scope)
        let interval = parts.configuration.sweepInterval
        let findings = try await registry.findings(in: scope, sweepInterval: interval)
        let channels = try await registry.channelCounts(in: scope).channels
        let system = ("See the system", link.page("system"))
        var checks = try await postgresChecks(system)
        checks += [.unconfirmed(statistics, link), .drops(statistics, link)]
        let (tripped, late) = (findings.filter { $0.code == .burstGuard }, findings.filter { $0.code == .sweepBehind })
        checks += HealthCheck.checks(tripped, orElse: "The burst guard is off.")
        checks += HealthCheck.checks(late, orElse: "The sweep is up to date.", more: system)
        checks.append(.channels(channels, link))
        let app = scope.app.bundleID
        let failure = parts.issuerKeys.failure(of: app)
        checks += failure.map { [HealthCheck(Finding(issuerOf: app, failure: $0))] } ?? []
        guard mayChange else { return checks }
        let expiring = try await registry.keys(of: scope.app).compactMap { Finding($0, now: now) }
        let keys = ("See the keys", link.page("keys"))
        return checks + HealthCheck.checks(expiring, orElse: "No key expires within two weeks.", more: keys)
    }

    private func postgresChecks(_ more: (String, String)) async throws -> [HealthCheck] {
        do throws(any Error) {
            let readiness = try await registry.checkReadiness()
            let good = "Postgres \(readiness.serverVersion) accepts writes, and its schema is up to date."
            return HealthCheck.checks(try await registry.databaseCondition().findings, orElse: good, more: more)
        } catch let problem as Problem { return [HealthCheck(isGood: false, sentence: problem.detail)] }
    }
}

extension TokenKind {
    fileprivate var sentence: String {
        switch self {
        case .update: "running activities"
        case .start: "push to start"
        case .device: "ordinary notifications"
        case .widget: "widget pushes"
        case .voip: "incoming calls"
        default: name
        }
    }
}

struct HealthCheck: Sendable {
    let isGood: Bool
    let sentence: String
    var more: (name: String, path: String)?

    /// One check per finding, or one good check without findings.
    static func checks(_ findings: [Finding], orElse good: String, more: (String, String)? = nil) -> [HealthCheck] {
        findings.isEmpty ? [HealthCheck(isGood: true, sentence: good)] : findings.map { HealthCheck($0, more: more) }
    }

    static func summary(_ checks: [HealthCheck]) -> String {
        let bad = checks.filter { !$0.isGood }.count
        if bad == 0 { return "All is well." }
        return bad == 1 ? "One check needs attention." : "\(bad) checks need attention."
    }
}

extension HealthCheck {
    private init(_ isGood: Bool, _ good: String, orElse bad: String, see path: String) {
        self.init(isGood: isGood, sentence: isGood ? good : bad, more: ("See them", path))
    }

    init(_ finding: Finding, more: (String, String)? = nil) {
        self.init(isGood: false, sentence: "\(finding.detail) \(finding.remedy)", more: more)
    }

    /// Below this number, shares mean little.
    private static let fewest = 20

    static func unconfirmed(_ statistics: RegistryStatistics, _ link: ConsoleLink) -> HealthCheck {
        let tokens = statistics.tokens.first { $0.kind == .update }
        let late = zip(RegistryStatistics.emptyAges, tokens?.ages ?? []).filter { group, _ in
            group.upTo.map { $0 > .seconds(2 * 3600) } ?? true
        }
        let (count, total) = (late.map(\.1.count).reduce(0, +), tokens?.count ?? 0)
        guard total >= fewest else {
            let sentence = "Too few activity tokens to judge how many of them clients confirm."
            return HealthCheck(isGood: true, sentence: sentence)
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

extension ConsoleCall {
    func showSystem() async throws -> Response {
        let health = try await registry.health()
        let (server, overdue) = (health.server, try await registry.overdueExpiry(in: scope))
        let (applied, needed) = (health.migrations.last?.version ?? 0, SchemaMigrator.currentVersion)
        return try page(
            "system",
            [
                "version": parts.configuration.version, "health": health, "findings": health.condition.findings,
                "uptime": Duration.seconds(now.timeIntervalSince(parts.startedAt)),
                "serverUptime": Duration.seconds(now.timeIntervalSince(server.startedAt)),
                "applied": applied, "needed": needed, "isCurrent": applied == needed,
                "hitShare": DisplayText.share(server.blocksHit, of: server.blocksHit + server.blocksRead),
                "rollbackShare": DisplayText.share(server.rollbacks, of: server.commits + server.rollbacks),
                "isReplicated": !server.synchronousStandbys.isEmpty,
                "lastSweep": parts.metrics.recorded.lastSweep, "overdue": overdue,
                "overdueCount": overdue.map { DisplayText.count($0.count, "expired activity", "expired activities") },
                "isOverdueCounted": overdue.map { $0.count < OverdueExpiry.countLimit } ?? true,
                "settings": parts.configuration.settingsInForce.map(row),
            ]
        )
    }

    private func row(_ setting: SettingInForce) -> TemplateContext {
        let isHidden = setting.isAboutDatabase && !isRoot
        return [
            "name": setting.name, "origin": setting.value == nil ? nil : setting.origin,
            "value": isHidden ? "visible only to root" : setting.value ?? "not set",
        ]
    }
}

extension ConsoleCall {
    func showKeys(fault: String? = nil) async throws -> Response {
        let app = try scope.app
        let keys = mayChange ? try await registry.keys(of: app) : []
        let apps = isRoot ? try await registry.apps() : []
        let settings = app.settings
        let rules = settings.aliasRules.sorted { $0.key < $1.key }
        return try page(
            "keys",
            status: fault == nil ? .ok : .unprocessableContent,
            [
                "maySeeKeys": mayChange, "keys": keys.map(row),
                "jwtIssuer": settings.jwt.map { $0["issuer"]?.string.map { "tokens of \($0)" } ?? "set" },
                "rules": rules.map { (kind: $0.key, callers: $0.value.callers) },
                "kinds": settings.tokenKinds.map { (name: $0.name, topic: $0.topic(of: app.bundleID)) },
                "apps": apps, "fault": fault,
            ]
        )
    }

    private func row(_ key: APIKeyRecord) -> TemplateContext {
        let (isValid, isExpiring) = (key.isValid(at: now), key.expiresSoon(at: now))
        return [
            "key": key, "isValid": isValid, "isOwn": key.id.rawValue == visit.session?.holder,
            "state": isExpiring ? "expires soon" : key.state(at: now),
            "tone": isExpiring ? "warn" : isValid ? "good" : "over",
        ]
    }

    /// The caller must type the key's name.
    func revokeKey() async throws -> Response {
        let name = call.parameter("keyId")
        guard field("confirmation") == name else {
            return try await showKeys(fault: "No key was revoked. Type “\(name)” to confirm.")
        }
        _ = try await call.revokeKey()
        return .seeOther(try link.page("keys"))
    }

    func showApps() async throws -> Response {
        let own = visit.grants.map(\.app)
        if own.count < 2, let own = principal.app {
            guard let app = try await registry.app(own) else { throw Problem.unknownApp }
            return .seeOther(try await entrance(to: app))
        }
        let apps = try await registry.apps().filter { own.isEmpty || own.contains($0.bundleID) }
        if apps.count == 1 { return .seeOther(try await entrance(to: apps[0])) }
        var fields = frame
        fields.add(["pageTitle": "Apps", "heading": "Apps", "apps": apps])
        return .page("apps", fields)
    }

    /// The sandbox, until the app has data in production.
    private func entrance(to app: App) async throws -> String {
        let isLive = try await registry.isUsed(Scope(app: app, environment: .production))
        return ConsoleLink(app.bundleID, isLive ? .production : .sandbox).base
    }
}
