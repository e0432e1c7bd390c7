import Foundation
import RegistryCore
import RegistryRules
import RegistryStore
import TestSupport

/// A random life in its own app, with every kind of change that senders can see.
struct SenderLife {
    static let aliases =
        (0..<3).map { Alias.sample("orderId", "o-\($0)") } + (0..<2).map { Alias.sample("userId", "u-\($0)") }

    let database: TestDatabase
    let scope: Scope
    let start: Date

    enum Step: Sendable {
        case register(
            activity: Int,
            token: Int?,
            at: Int,
            installation: Int?,
            alias: Int?,
            type: String?,
            startedAt: Int?,
            startsAt: Int?
        )
        case end(activity: Int, at: Int, reason: EndReason)
        case endAll(alias: Int)
        case fullState(installation: Int, at: Int, activities: [Int])
        case registerToken(installation: Int, slot: TokenSlot, token: Int, at: Int)
        case deleteToken(installation: Int, slot: TokenSlot, at: Int)
        case name(installation: Int, aliases: [Int], at: Int, subject: UTF8Text?)
        case logOut(installation: Int, at: Int)
        case report(token: Int, reason: String, status: Int, at: Int)
        case release(activity: Int)
        case releaseAll
        case purge
        case channel(alias: Int, number: Int?)
        case erase(ErasureSubject)
        case byAlias(alias: Int, installation: Int, token: Int, at: Int)
        case endByAlias(alias: Int, installation: Int, at: Int)
        case releaseToken(installation: Int, slot: TokenSlot)
        case sweep
    }

    static func step(_ minute: Int, using generator: inout SeededGenerator) -> Step {
        func number(_ count: Int) -> Int { Int.random(in: 0..<count, using: &generator) }
        func maybe(_ count: Int) -> Int? { Bool.random(using: &generator) ? nil : number(count) }
        let time = max(0, minute - (number(3) == 0 ? number(6) : 0))
        let slot = [TestInstallation.delivery, TestInstallation.device, TestInstallation.widget][number(3)]
        switch number(33) {
        case 0..<9:
            return .register(
                activity: number(3),
                token: number(6) == 0 ? nil : number(5),
                at: time,
                installation: maybe(2),
                alias: maybe(3),
                type: number(3) == 0 ? "Delivery" : nil,
                startedAt: number(4) == 0 ? time - number(5) : nil,
                startsAt: number(8) == 0 ? 100 + number(3) : nil
            )
        case 9..<11:
            return .end(activity: number(3), at: time, reason: Bool.random(using: &generator) ? .ended : .dismissed)
        case 11: return .endAll(alias: number(3))
        case 12..<14:
            return .fullState(
                installation: number(2),
                at: time,
                activities: (0..<3).filter { _ in Bool.random(using: &generator) }
            )
        case 14..<18: return .registerToken(installation: number(2), slot: slot, token: number(5), at: time)
        case 18: return .deleteToken(installation: number(2), slot: slot, at: time)
        case 19..<22:
            return .name(
                installation: number(2),
                aliases: (3..<5).filter { _ in Bool.random(using: &generator) },
                at: time,
                subject: maybe(2).map { UTF8Text("user-\($0)") }
            )
        case 22: return .logOut(installation: number(2), at: time)
        case 23: return .report(token: number(5), reason: "Unregistered", status: 410, at: time)
        case 24: return .report(token: number(5), reason: "BadDeviceToken", status: 400, at: time)
        case 25: return number(2) == 0 ? .releaseAll : .release(activity: number(3))
        case 26:
            return number(3) == 0
                ? .purge : .byAlias(alias: number(3), installation: number(2), token: number(5), at: time)
        case 27: return .channel(alias: number(3), number: maybe(2))
        case 28 where number(3) == 0:
            return .erase(Bool.random(using: &generator) ? .alias(aliases[number(5)]) : .installation(hash(number(2))))
        case 29: return .endByAlias(alias: number(3), installation: number(2), at: time)
        case 30: return .releaseToken(installation: number(2), slot: slot)
        case 31: return .sweep
        default:
            return .register(
                activity: number(3),
                token: number(5),
                at: time,
                installation: nil,
                alias: number(3),
                type: nil,
                startedAt: nil,
                startsAt: nil
            )
        }
    }

    /// Plays a step, repeating it unchanged while its outcome is unknown.
    func play(_ step: Step, on registry: Registry) async throws {
        do {
            try await untilAnswered { try await perform(step, on: registry) }
        } catch let problem as Problem where [403, 404, 409, 410].contains(problem.code.status) {
            // A refused request may still have been merged.
        }
    }

    private func perform(_ step: Step, on registry: Registry) async throws {
        let database = database.on(registry)
        func activity(_ number: Int) -> TestActivity {
            TestActivity(database: database, scope: scope, id: .sample("a-\(number)"))
        }
        func phone(_ number: Int) -> TestInstallation {
            TestInstallation(database: database, scope: scope, hash: Self.hash(number))
        }
        switch step {
        case .register(let id, let token, let time, let phone, let alias, let type, let startedAt, let startsAt):
            try await activity(id).register(
                token,
                at: date(time),
                startedAt: startedAt.map(date),
                startsAt: startsAt.map(date),
                installation: phone.map(Self.hash),
                aliases: alias.map { [Self.aliases[$0]] },
                attributesType: type
            )
        case .end(let id, let time, let reason): try await activity(id).end(reason: reason, at: date(time))
        case .endAll(let alias): _ = try await registry.endAll(under: Self.aliases[alias], in: scope, by: "test")
        case .fullState(let number, let time, let ids):
            let item = ActivityRegistration.sample(token: nil, observedAt: date(time))
            let items = ids.map { FullState.Item(activityID: activity($0).id, registration: item) }
            try await phone(number).tellFullState(of: Self.hash(number), items, at: date(time))
        case .registerToken(let number, let slot, let token, let time):
            try await phone(number).register(token, in: slot, at: date(time))
        case .deleteToken(let number, let slot, let time): try await phone(number).delete(slot, at: date(time))
        case .name(let number, let aliases, let time, let subject):
            let phone = subject.map { phone(number).asUser($0) } ?? phone(number)
            try await phone.put(aliases.map { Self.aliases[$0] }, at: date(time))
        case .logOut(let number, let time): try await phone(number).logOut(at: date(time))
        case .report(let token, let reason, let status, let time):
            _ = try await phone(0).report(token, status, reason, at: date(time))
        case .release(let id): _ = try await registry.release(activity(id).id, in: scope, by: "admin")
        case .releaseAll: _ = try await registry.releaseAll(in: scope, by: "admin")
        case .purge:
            var filter = StaleFilter()
            filter.unconfirmedFor = .zero
            _ = try await registry.purgeStaleTokens(filter, in: scope, by: "admin")
        case .channel(let alias, let number):
            guard let number else {
                return try await registry.deleteChannel(of: Self.aliases[alias], in: scope, by: "test")
            }
            let channel = BroadcastChannel(stored: UTF8Text("channel-\(number)"), storagePolicy: .none)
            _ = try await registry.put(channel, for: Self.aliases[alias], in: scope, by: "test")
        case .erase(let subject): try await phone(0).erase(subject)
        case .byAlias(let alias, let number, let token, let time):
            _ = try await registry.register(
                .sample(token: .sample(token), observedAt: date(time)),
                alias: UTF8Text("live-\(alias)"),
                owner: .installation(Self.hash(number)),
                in: scope,
                by: "test"
            )
        case .endByAlias(let alias, let number, let time):
            let identity = phone(number).identity(UTF8Text("live-\(alias)"))
            try await identity.end(at: date(time), owner: .installation(Self.hash(number)))
        case .releaseToken(let number, let slot): try await phone(number).release(slot)
        case .sweep: for task in SweepTask.allCases { _ = try await phone(0).sweep(task) }
        }
    }

    static func hash(_ installation: Int) -> InstallationHash { .sample(installation + 1) }
    private func date(_ minute: Int) -> Date { start.addingTimeInterval(Double(minute) * 60) }
}

/// Repeats `body` while Postgres is unavailable or its response is lost.
func untilAnswered<Value>(_ body: () async throws -> Value) async throws -> Value {
    while true {
        do { return try await body() } catch let problem as Problem where problem.code == .unavailable {}
    }
}
