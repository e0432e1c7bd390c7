import Foundation
import PostgresDriver
import RegistryCore
import RegistryRules
import RegistryStore
import TestSupport

/// Plays a history on two instances, in a scope of its own.
struct CallPlayer {
    let service: CallService
    let scope: Scope
    /// The present minute. Passed minutes make all rows older instead.
    let start = Date.minutesAgo(0)
    /// The active leases by installation and alias, as long as nothing can have freed them.
    private var leases: [[Int]: (lease: Int, id: LeaseID)] = [:]
    private var lastLease: LeaseID?
    private var number = 0

    init(_ service: CallService) async throws {
        self.service = service
        scope = try await service.database.scope("com.example.h\(UUID().uuidString)")
    }

    private var registry: Registry { service.registries[number % 2] }

    mutating func play(_ call: Call) async throws -> Reply {
        number += 1
        do {
            return try await perform(call)
        } catch let problem as Problem {
            return Reply(.problem(problem.code))
        }
    }

    private mutating func perform(_ call: Call) async throws -> Reply {
        if call.mayFreeLeases { leases = [:] }
        switch call {
        case .register(let activity, let token, let ago, let started, let starts, let alias, let by):
            var body = body(token, ago, by)
            (body.startedAt, body.startsAt) = (date(started), date(starts.map { -$0 }))
            body.aliases = try aliases(alias)
            let id = id(activity)
            let result = try await registry.register(body, as: id, in: scope, by: "test", claimant: by.claimant)
            return Reply(.outcome(result.outcome))
        case .registerName(let alias, let token, let ago, let by):
            let body = body(token, ago, by)
            let name = service.alias(alias).value
            let result = try await registry.register(
                body,
                alias: name,
                owner: by.owner,
                in: scope,
                by: "test",
                claimant: by.claimant
            )
            return Reply(.outcome(result.outcome))
        case .end(let activity, let ago, let by):
            let id = id(activity)
            try await registry.end(
                id,
                reason: .ended,
                observedAt: date(ago),
                in: scope,
                by: "test",
                claimant: by.claimant
            )
        case .endName(let alias, let ago, let by):
            let name = service.alias(alias).value
            try await registry.end(
                alias: name,
                owner: by.owner,
                reason: .ended,
                observedAt: date(ago),
                in: scope,
                by: "test",
                claimant: by.claimant
            )
        case .endAlias(let alias):
            return Reply(.done, try await registry.endAll(under: service.alias(alias), in: scope, by: "test"))
        case .fullState(let items, let ago, let by): return try await tell(items, ago, by)
        case .profile(let alias, let ago, let by):
            let profile = InstallationProfile(aliases: try aliases(alias), observedAt: date(ago))
            _ = try await registry.put(profile, for: by.hash, in: scope, by: "test", claimant: by.claimant)
        case .put(let slot, let token, let ago, let by):
            let body = TokenRegistration(token: service.token(token), observedAt: date(ago))
            let result = try await registry.register(
                body,
                in: slot.slot,
                of: by.hash,
                in: scope,
                by: "test",
                claimant: by.claimant
            )
            return Reply(.outcome(result.outcome))
        case .delete(let slot, let ago, let by):
            try await registry.deleteToken(
                in: slot.slot,
                of: by.hash,
                observedAt: date(ago),
                in: scope,
                by: "test",
                claimant: by.claimant
            )
        case .logOut(let ago, let by):
            try await registry.logOut(by.hash, observedAt: date(ago), in: scope, by: "test", claimant: by.claimant)
        case .feedback(let reports):
            let outcome = try await registry.apply(reports.map(report), in: scope, by: "test")
            return Reply(outcome.results.map { .action($0.action) }, outcome.trippedKinds.sorted())
        case .release(let activity):
            return Reply(.done, try await registry.release(id(activity), in: scope, by: "test") ? 1 : 0)
        case .releaseSlot(let slot, let installation):
            let hash = InstallationHash.sample(installation + 1)
            try await registry.releaseToken(in: slot.slot, of: hash, in: scope, by: "test")
        case .releaseAll: return Reply(.done, try await registry.releaseAll(in: scope, by: "test"))
        case .eraseAlias(let alias):
            _ = try await registry.erase(.alias(service.alias(alias)), in: scope, by: "test")
        case .eraseUser(let user): _ = try await registry.erase(.subject("u\(user)"), in: scope, by: "test")
        case .releaseLease:
            if let lastLease { try await registry.release(lastLease, in: scope, by: "test") }
        case .purge(let kind, let reason):
            var filter = StaleFilter()
            (filter.kind, filter.reason) = (TokenKind(stored: kind.rawValue), reason)
            filter.unconfirmedFor = .seconds(600)
            return Reply(.done, try await registry.purgeStaleTokens(filter, in: scope, by: "test"))
        case .sweep:
            for task in SweepTask.allCases { _ = try await registry.sweep(task, limit: 100, in: scope) }
        case .pass(let minutes): try await service.age(scope, by: minutes)
        case .plan: break
        }
        return Reply(.done)
    }

    // MARK: Values

    private func id(_ activity: Int) -> ActivityID { .sample("a\(activity)") }
    private func date(_ ago: Int?) -> Date? { ago.map { start.addingTimeInterval(Double(-$0) * 60) } }
    private func aliases(_ alias: Int?) throws -> AliasSet? { try alias.map { try AliasSet([service.alias($0)]) } }

    private func body(_ token: Int?, _ ago: Int?, _ by: Call.Caller) -> ActivityRegistration {
        let hash = by.installation.map { InstallationHash.sample($0 + 1) }
        return .sample(token: token.map(service.token), observedAt: date(ago), installation: hash)
    }

    private func report(_ report: Call.Report) -> FeedbackReport {
        let reason = [.suspect: "BadDeviceToken", .dead: "Unregistered"][report.status]
        var wire = FeedbackReport(
            token: service.token(report.token),
            status: report.status.rawValue,
            reason: reason,
            timestamp: date(report.ago)
        )
        wire.leaseID = report.isOfLease ? lastLease : nil
        return wire
    }

    private func tell(_ items: [Call.Item], _ ago: Int, _ by: Call.Caller) async throws -> Reply {
        let items = items.map { FullState.Item(activityID: id($0.activity), registration: body($0.token, nil, by)) }
        let state = FullState(observedAt: date(ago) ?? start, items: items)
        let results = try await registry.apply(state, of: by.hash, in: scope, by: "test", claimant: by.claimant)
        let answers = results.results.map { result -> Answer in
            switch result {
            case .success(let outcome): .outcome(outcome)
            case .failure(let problem): .problem(problem.code)
            }
        }
        return Reply([.done] + answers, results.ended.map(\.rawValue.string).filter { $0.hasPrefix("a") })
    }

    // MARK: Plans

    /// Compares a plan with the tokens that the model delivers, and with the leases of earlier plans.
    mutating func plan(_ alias: Int, _ lease: Int, _ model: CallModel) async throws -> String? {
        number += 1
        let to = [service.alias(2)]
        var request = PlanRequest(alias: service.alias(alias), to: to, attributesType: TestInstallation.types[0])
        request.planID = UTF8Text("p\(lease)")
        let (view, service) = (model.view, service)
        for entry in try await registry.plan(request, in: scope, by: "test").entries {
            let hash = (0..<Names.installations).first { .sample($0 + 1) == entry.installation }
            let isDeliverable = { (token: PushToken, slot: Call.Slot) in
                hash.flatMap { model.deliverable(.init(slot: slot, installation: $0)) }.map(service.token) == token
            }
            switch entry.step {
            case .update(let activity, _), .end(let activity):
                if view.resolved["\(alias)"]?.contains(where: { service.token($0) == activity.token }) != true {
                    return "the plan updates \(activity.activityID)"
                }
            case .start(let token, let given, _):
                guard isDeliverable(token, .delivery) else { return "the plan starts by a token that is withheld" }
                let key = [hash ?? -1, alias]
                if let known = leases[key], known.lease != lease || known.id != given.id { return "two leases" }
                leases[key] = (lease, given.id)
                lastLease = given.id
            case .alert(_, let token?):
                if !isDeliverable(token, .device) { return "the plan alerts by a token that is withheld" }
            case .alert, .wait, .none: break
            }
        }
        return nil
    }

    // MARK: Reads

    func view() async throws -> CallView {
        var view = CallView()
        for number in 0..<Names.activities {
            guard let record = try await registry.activity(id(number), in: scope) else { continue }
            let token = record.token.map(service.number)
            view.add("a\(number)", record.status.state, record.status.reason, token)
        }
        for number in 0..<Names.aliases {
            let alias = service.alias(number)
            let activities = try await registry.activities(under: alias, limit: 100, in: scope)
            if !activities.isEmpty { view.resolved["\(number)"] = Set(activities.map { service.number(of: $0.token) }) }
            for kind in [TokenKind.start, .device, .widget] {
                let tokens = try await registry.tokens(under: alias, kind, limit: 100, in: scope).map(\.token)
                if !tokens.isEmpty { view.resolved["\(number) \(kind)"] = Set(tokens.map(service.number)) }
            }
        }
        for number in 0..<Names.installations {
            guard let record = try await registry.installation(.sample(number + 1), in: scope) else { continue }
            let json = String(decoding: record.aliases ?? [], as: UTF8.self)
            let aliases = (0..<Names.aliases).filter { json.contains(service.alias($0).value.string) }
            view.installations[number] = "\(record.subject.flatMap { Int($0.string.dropFirst()) } ?? -1) \(aliases)"
            for token in record.tokens {
                let slot = Call.Slot.allCases.first {
                    $0.kind.rawValue == token.kind && $0.slot.attributesType?.rawValue == token.attributesType
                }
                let value = service.digests.firstIndex { Array($0.prefix(4)) == token.fingerprint } ?? -1
                view.add(slot, of: number, value, token.reason)
            }
        }
        return view
    }
}

/// A database with two instances, shared by histories.
struct CallService {
    let database: TestDatabase
    let registries: [Registry]
    let digests: [[UInt8]]
    private let columns: [String: [String]]

    static func make() async throws -> CallService {
        let database = try await TestDatabase.make()
        let tokens = (0..<Names.tokens).map { PushToken.sample($0).bytes }
        let digests: SQL =
            "SELECT sha256(q.token) FROM unnest(\(tokens)) WITH ORDINALITY AS q (token, position) ORDER BY position"
        let columns: SQL = """
            SELECT c.table_name::text, c.column_name::text FROM information_schema.columns c
            WHERE c.table_schema = current_schema() AND c.data_type = 'timestamp with time zone' AND c.table_name IN (
                'activities', 'installations', 'token_values', 'installation_tokens', 'quarantine_guards',
                'alias_identities', 'start_leases', 'erasures')
            """
        return try await database.pool.withSession { session in
            let pairs = try session.execute(columns).decode(String.self, String.self)
            return CallService(
                database: database,
                registries: [database.registry, database.anotherRegistry()],
                digests: try session.execute(digests).decode([UInt8].self),
                columns: Dictionary(grouping: pairs, by: \.0).mapValues { $0.map(\.1) }
            )
        }
    }

    /// The positions of tokens in the order of their digests.
    var ranks: [Int] {
        digests.map { digest in digests.count { $0.lexicographicallyPrecedes(digest) } }
    }

    func token(_ number: Int) -> PushToken { .sample(number) }
    func number(of token: PushToken) -> Int { (0..<Names.tokens).first { .sample($0) == token } ?? -1 }
    func alias(_ number: Int) -> Alias { .sample(number < 2 ? "liveactivityId" : "userId", "x\(number)") }

    /// Lets time pass, as if everything had been so much earlier.
    func age(_ scope: Scope, by minutes: Int) async throws {
        let span = "'\(minutes) minutes'"
        let changes = columns.map { table, columns -> SQL in
            var changes = columns.map { "\($0) = earlier(\($0), \(span))" }
            if table == "start_leases" {
                changes.append(
                    "attempted_at = ARRAY(SELECT earlier(t, \(span)) FROM unnest(attempted_at) AS t ORDER BY t)"
                )
            }
            return
                "UPDATE \(unescaped: table) SET \(unescaped: changes.joined(separator: ", ")) WHERE scope_id = \(scope.id)"
        }
        try await database.pool.withSession { _ = try $0.pipeline(changes) }
    }
}

extension Call {
    /// Nothing else frees a lease, so another plan must not get one.
    fileprivate var mayFreeLeases: Bool {
        switch self {
        case .plan, .put, .delete, .release, .releaseSlot, .releaseAll, .purge, .sweep, .endAlias, .end: false
        default: true
        }
    }
}

extension Call.Slot {
    fileprivate var slot: TokenSlot {
        switch self {
        case .delivery: .start(TestInstallation.types[0])
        case .match: .start(TestInstallation.types[1])
        case .device: .only(.device)
        case .widget: .only(.widget)
        }
    }
}

extension Call.Caller {
    private var subject: UTF8Text? { user.map { UTF8Text("u\($0)") } }
    fileprivate var hash: InstallationHash { .sample((installation ?? 0) + 1) }
    fileprivate var owner: ActivityOwner {
        ActivityOwner(installation: installation.map { .sample($0 + 1) }, subject: subject)
    }

    fileprivate var claimant: Claimant {
        let hash = installation.map { InstallationHash.sample($0 + 1) }
        if let subject { return .subject(subject, hash) }
        return isClient ? hash.map { .installation($0) } ?? .any : .any
    }
}
