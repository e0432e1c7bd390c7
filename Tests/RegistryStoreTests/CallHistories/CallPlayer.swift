import Foundation
import PostgresDriver
import RegistryCore
import RegistryRules
import RegistryStore
import TestSupport
import Testing

/// Plays calls in a scope of its own, on one of the instances at a time.
struct CallPlayer: Fixture {
    let service: CallService
    let scope: Scope
    /// The present minute. Passed minutes make all rows older instead.
    let start: Date
    /// The instance of the next call.
    var instance = 0
    /// The active leases by installation and alias, as long as nothing can have freed them.
    private var leases: [[Int]: (lease: Int, id: LeaseID)] = [:]
    private var lastLease: LeaseID?

    var database: TestDatabase { service.database.on(service.registries[instance % service.registries.count]) }

    init(_ service: CallService, start: Date = .minutesAgo(0)) async throws {
        (self.service, self.start) = (service, start)
        scope = try await service.database.scope("com.example.h\(UUID().uuidString)")
    }

    mutating func play(_ call: Call) async throws -> Reply {
        do {
            return try await perform(call)
        } catch let problem as Problem where problem.code != .internalError { return Reply(.problem(problem.code)) }
    }

    /// A refused request may still have been merged.
    mutating func play(_ calls: [Call]) async throws {
        for call in calls {
            guard case .problem(let code) = try await play(call).answers[0] else { continue }
            #expect([409, 410].contains(code.status), "\(call)")
        }
    }

    private mutating func perform(_ call: Call) async throws -> Reply {
        if call.mayFreeLeases { leases = [:] }
        let (activity, named) = (activity("a\(call.activity)"), identity(Self.alias(call.alias).value))
        var phone = installation((call.installation ?? 0) + 1)
        phone.claimant = call.claimant
        let (token, time, slot) = (call.token ?? 0, date(call.ago), call.slot.slot)
        let (aliases, by) = (call.aliases?.map(Self.alias), call.claimant)
        switch call.rule {
        case .register:
            let result = try await activity.register(
                call.token,
                at: time,
                startedAt: date(call.startedAgo),
                startsAt: date(call.startsIn.map(-)),
                installation: call.installation.map { .sample($0 + 1) },
                aliases: aliases,
                attributesType: call.type.map { TestInstallation.types[$0].rawValue.string },
                claimant: by
            )
            return Reply(.outcome(result.outcome))
        case .registerName:
            let result = try await named.post(token, at: time, owner: call.owner, aliases: aliases, claimant: by)
            return Reply(.outcome(result.outcome))
        case .end: try await activity.end(at: time, claimant: by)
        case .endName: try await named.end(at: time, owner: call.owner, claimant: by)
        case .endAlias:
            return Reply(.done, try await registry.endAll(under: Self.alias(call.alias), in: scope, by: "test"))
        case .fullState: return try await tellFullState(call, of: phone)
        case .profile:
            let metadata = call.metadata.map { JSONValue.object(["note": .string($0)]) }
            try await phone.put(aliases, metadata: metadata, at: time)
        case .putShared, .putOwned: return Reply(.outcome(try await phone.register(token, in: slot, at: time).outcome))
        case .delete: try await phone.delete(slot, at: time)
        case .logOut: try await phone.logOut(at: time)
        case .feedback:
            let outcome = try await registry.apply(call.parts.map(report), in: scope, by: "test")
            return Reply(outcome.results.map { .action($0.action) }, outcome.trippedKinds.sorted())
        case .release: return Reply(.done, try await registry.release(activity.id, in: scope, by: "test") ? 1 : 0)
        case .releaseSlot: try await phone.release(slot)
        case .releaseAll: return Reply(.done, try await registry.releaseAll(in: scope, by: "test"))
        case .erase: try await erase(call.user.map { .subject("u\($0)") } ?? .alias(Self.alias(call.alias)))
        case .releaseLease: if let lastLease { try await registry.release(lastLease, in: scope, by: "test") }
        case .channel: try await setChannel(call.token, of: Self.alias(call.alias))
        case .purge:
            var filter = StaleFilter()
            (filter.kind, filter.reason) = (TokenKind(stored: call.kind.rawValue), call.reason)
            filter.unconfirmedFor = .seconds(call.minutes * 60)
            return Reply(.done, try await registry.purgeStaleTokens(filter, in: scope, by: "test"))
        case .sweep: for task in SweepTask.allCases { _ = try await sweep(task) }
        case .pass: try await service.age(scope, by: call.minutes)
        case .plan, .item, .report: break
        }
        return Reply(.done)
    }

    private func tellFullState(_ call: Call, of phone: TestInstallation) async throws -> Reply {
        let items = call.parts.map {
            FullState.Item(
                activityID: .sample("a\($0.activity)"),
                registration: .sample(token: $0.token.map { .sample($0) }, installation: phone.hash)
            )
        }
        let time = date(call.ago) ?? start
        let results = try await tellFullState(of: phone.hash, items, at: time, claimant: call.claimant)
        let answers = results.results.map { result -> Answer in
            switch result {
            case .success(let outcome): .outcome(outcome)
            case .failure(let problem): .problem(problem.code)
            }
        }
        return Reply([.done] + answers, results.ended.map(\.rawValue.string).filter { $0.hasPrefix("a") })
    }

    private func setChannel(_ number: Int?, of alias: Alias) async throws {
        guard let number else { return try await registry.deleteChannel(of: alias, in: scope, by: "test") }
        let channel = BroadcastChannel(stored: UTF8Text("channel-\(number)"), storagePolicy: .none)
        _ = try await registry.put(channel, for: alias, in: scope, by: "test")
    }

    private func report(_ report: Call) -> FeedbackReport {
        var wire = FeedbackReport(
            token: .sample(report.token ?? 0),
            status: report.status.rawValue,
            reason: [.suspect: "BadDeviceToken", .dead: "Unregistered"][report.status],
            timestamp: date(report.ago)
        )
        wire.leaseID = report.isOfLease ? lastLease : nil
        return wire
    }

    static func alias(_ number: Int) -> Alias { .sample(number < 2 ? "liveactivityId" : "userId", "x\(number)") }
    private func date(_ ago: Int?) -> Date? { ago.map { start.addingTimeInterval(Double(-$0) * 60) } }
    private func minutes(_ date: Date) -> Int { Int((date.timeIntervalSince(start) / 60).rounded()) }
    private func number(of token: PushToken) -> Int { (0..<Names.tokens).first { .sample($0) == token } ?? -1 }

    /// Compares a plan with the tokens that the model delivers, and with the leases of earlier plans.
    mutating func plan(_ call: Call, _ model: CallModel) async throws -> String? {
        let (alias, type) = (Self.alias(call.alias), TestInstallation.types[0])
        var request = PlanRequest(alias: alias, to: [Self.alias(2)], attributesType: type)
        request.planID = UTF8Text("p\(call.lease)")
        let updated = model.tokens(under: call.alias)
        for entry in try await registry.plan(request, in: scope, by: "test").entries {
            let hash = (0..<Names.installations).first { .sample($0 + 1) == entry.installation }
            let isDeliverable = { (token: PushToken, slot: Call.Slot) in
                let owner = Call(rule: .plan, slot: slot, installation: hash)
                return hash != nil && model.deliverable(CallModel.SlotID(owner)).map(PushToken.sample) == token
            }
            switch entry.decision {
            case .update(let activity, _), .end(let activity):
                if !updated.contains(number(of: activity.token)) { return "the plan updates \(activity.activityID)" }
            case .start(let token, let given, _):
                guard isDeliverable(token, .delivery) else { return "the plan starts by a token that is withheld" }
                let key = [hash ?? -1, call.alias]
                if let known = leases[key], known.lease != call.lease || known.id != given.id { return "two leases" }
                leases[key] = (call.lease, given.id)
                lastLease = given.id
            case .alert(_, let token?):
                if !isDeliverable(token, .device) { return "the plan alerts by a token that is withheld" }
            case .alert, .wait, .none: break
            }
        }
        return nil
    }

    /// - Parameter isOfActivities: whether to read the times of activities, and no tokens of installations.
    func view(isOfActivities: Bool = false) async throws -> CallView {
        var view = CallView()
        for number in 0..<Names.activities {
            guard let record = try await activity("a\(number)").record() else { continue }
            let status = record.status
            let starts: [Date?] = status.state == .ended ? [nil, nil] : [record.startedAt, record.startsAt]
            let type = TestInstallation.types.firstIndex { $0 == record.facts.attributesType }
            let facts = isOfActivities ? (starts + [status.endedAt]).map { $0.map(minutes) } : [type]
            view.add("a\(number)", status.state, status.reason, record.token.map(self.number), facts: facts)
        }
        for number in 0..<Names.aliases {
            let alias = Self.alias(number)
            view.add(try await found(under: alias).map { self.number(of: $0.token) }, under: number)
            for kind in isOfActivities ? [] : [TokenKind.start, .device, .widget] {
                let tokens = try await registry.tokens(under: alias, kind, limit: 100, in: scope)
                view.add(tokens.map { self.number(of: $0.token) }, under: number, kind: kind.name)
            }
        }
        for number in 0..<Names.installations {
            guard let record = try await installation(number + 1).record() else { continue }
            let json = String(decoding: record.aliases ?? [], as: UTF8.self)
            let aliases = (0..<Names.aliases).filter { json.contains(Self.alias($0).value.string) }
            let user = record.subject.flatMap { Int($0.string.dropFirst()) }
            view.add(installation: number, user: user, aliases: aliases)
            for token in record.tokens where !token.isDeleted {
                let slot = Call.Slot.allCases.first {
                    $0.kind.rawValue == token.kind && $0.slot.attributesType?.rawValue == token.attributesType
                }
                let value = service.digests.firstIndex { Array($0.prefix(4)) == token.fingerprint } ?? -1
                let availability = token.facts.availability
                view.add(slot, of: number, value, availability == .handedOut ? nil : availability.rawValue)
            }
        }
        return view
    }
}

/// A database with several instances, shared by histories.
struct CallService {
    let database: TestDatabase
    let registries: [Registry]
    let digests: [[UInt8]]
    private let columns: [String: [String]]

    init(_ shared: TestDatabase? = nil, instances: Int = 2, isSilent: Bool = false) async throws {
        let database = if let shared { shared } else { try await TestDatabase.make() }
        self.database = database
        // Makes today's partition. Many apps at once would begin the day in the default one, which each app then reads.
        _ = try await database.scope()
        registries = (0..<instances).map { _ in database.anotherRegistry(isSilent: isSilent) }
        let tokens = (0..<Names.tokens).map { PushToken.sample($0).bytes }
        let sorted: SQL = """
            SELECT substr(sha256(q.token), 1, 15)
            FROM unnest(\(tokens)) WITH ORDINALITY AS q (token, position) ORDER BY position
            """
        digests = try await database.column(sorted, as: [UInt8].self)
        let pairs = try await database.pool.withSession { session in
            try session.execute(
                """
                SELECT c.table_name::text, c.column_name::text FROM information_schema.columns c
                WHERE c.table_schema = current_schema() AND c.data_type = 'timestamp with time zone' AND c.table_name IN (
                    'activities', 'installations', 'token_values', 'installation_tokens', 'quarantine_guards',
                    'alias_identities', 'start_leases', 'erasures')
                """
            ).decode(String.self, String.self)
        }
        columns = Dictionary(grouping: pairs, by: \.0).mapValues { $0.map(\.1) }
        // The checks read whole scopes, which the service never does.
        let indexes = columns.keys.map { "CREATE INDEX IF NOT EXISTS \($0)_of_scope ON \($0) (scope_id)" }
        for index in indexes { try await database.simple(index) }
    }

    /// The positions of tokens in the order of their digests.
    var ranks: [Int] { digests.map { digest in digests.count { $0.lexicographicallyPrecedes(digest) } } }

    /// Lets time pass, as if everything had been so much earlier.
    func age(_ scope: Scope, by minutes: Int) async throws {
        let span = "'\(minutes) minutes'"
        let changes = columns.map { table, columns -> SQL in
            var changes = columns.map { "\($0) = earlier(\($0), \(span))" }
            if table == "start_leases" {
                let attempts = "SELECT earlier(t, \(span)) FROM unnest(attempted_at) AS t ORDER BY t"
                changes.append("attempted_at = ARRAY(\(attempts))")
            }
            let list = changes.joined(separator: ", ")
            return "UPDATE \(unescaped: table) SET \(unescaped: list) WHERE scope_id = \(scope.id)"
        }
        try await database.pool.withSession { _ = try $0.pipeline(changes) }
    }
}

extension Call {
    /// Nothing else frees a lease, so another plan must not get one.
    fileprivate var mayFreeLeases: Bool {
        switch rule {
        case .plan, .putShared, .putOwned, .delete, .release, .releaseSlot, .releaseAll, .purge, .sweep, .endAlias,
            .end,
            .channel:
            false
        default: true
        }
    }

    private var subject: UTF8Text? { user.map { UTF8Text("u\($0)") } }
    private var hash: InstallationHash? { installation.map { .sample($0 + 1) } }
    fileprivate var owner: ActivityOwner { ActivityOwner(installation: hash, subject: subject) }

    fileprivate var claimant: Claimant {
        if let subject { return .subject(subject, hash) }
        return isClient ? hash.map { .installation($0) } ?? .any : .any
    }
}

extension Call.Slot {
    fileprivate var slot: TokenSlot {
        switch self {
        case .delivery: TestInstallation.delivery
        case .match: .start(TestInstallation.types[1])
        case .device: TestInstallation.device
        case .widget: TestInstallation.widget
        }
    }
}
