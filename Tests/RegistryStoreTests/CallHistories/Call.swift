import RegistryCore
import RegistryStore
import TestSupport

/// A call of a client, a sender or an admin in a history. Numbers stand for names; times are minutes before the call.
///
/// Nil for `ago` is the time of receipt; negative is the time of a fast clock.
enum Call: Codable, Hashable, Sendable {
    case register(activity: Int, token: Int, ago: Int?, startedAgo: Int?, startsIn: Int?, alias: Int?, by: Caller)
    case registerName(alias: Int, token: Int, ago: Int?, by: Caller)
    case end(activity: Int, ago: Int?, by: Caller)
    case endName(alias: Int, ago: Int?, by: Caller)
    case endAlias(alias: Int)
    case fullState(items: [Item], ago: Int, by: Caller)
    case profile(alias: Int?, ago: Int?, by: Caller)
    case put(slot: Slot, token: Int, ago: Int?, by: Caller)
    case delete(slot: Slot, ago: Int?, by: Caller)
    case logOut(ago: Int?, by: Caller)
    case feedback(reports: [Report])
    case release(activity: Int)
    case releaseSlot(slot: Slot, installation: Int)
    case releaseAll
    case eraseAlias(Int)
    case eraseUser(Int)
    case plan(alias: Int, lease: Int)
    case releaseLease
    case purge(kind: Kind, reason: StaleReason)
    case sweep
    /// Not a call: time passes.
    case pass(minutes: Int)

    /// A request of a backend or a client, and the installation that it names.
    struct Caller: Codable, Hashable, Sendable {
        /// A client without a user has a publishable key.
        var isClient = false
        var user: Int?
        var installation: Int?
    }

    struct Item: Codable, Hashable, Sendable {
        let activity: Int
        let token: Int?
    }

    struct Report: Codable, Hashable, Sendable {
        enum Status: Int, Codable, CaseIterable, Sendable {
            case delivered = 200
            case suspect = 400
            case dead = 410
            case failed = 500
        }

        let token: Int
        let status: Status
        /// Nil for a report without a time.
        let ago: Int?
        /// Whether it names the last lease.
        let isOfLease: Bool
    }

    /// In the order of the service, which breaks ties.
    enum Kind: String, Codable, CaseIterable, Comparable, Sendable {
        case device
        case start
        case update
        case widget

        static func < (left: Kind, right: Kind) -> Bool { left.rawValue < right.rawValue }
    }

    enum Slot: String, Codable, CaseIterable, Sendable {
        case delivery
        case match
        case device
        case widget

        var kind: Kind { Kind(rawValue: rawValue) ?? .start }
        /// Start tokens may repeat.
        var hasOneOwner: Bool { kind != .start }
    }
}

extension StaleReason: Codable {}

/// Few activities, tokens, installations, users and aliases, so that calls concern equal records.
enum Names {
    static let (activities, installations, users, aliases) = (4, 2, 2, 3)
    static let tokens = 12
}

/// A sequence of all calls, each answered before the next.
struct CallHistory: Hashable, Sendable {
    var calls: [Call]

    init(_ calls: [Call]) { self.calls = calls }

    init(seed: UInt64) {
        var random = RandomCalls(seed: seed)
        calls = (0..<random.number(in: 16...40)).map { _ in random.call() }
    }
}

private struct RandomCalls {
    private var generator: SeededGenerator
    /// Whether values of one kind are registered as another. An erasure forgets a value's kinds, so these histories
    /// have none.
    private let mixesKinds: Bool
    /// Whether most calls are about one phone's tokens and names.
    private let isAboutPhones: Bool
    /// The minutes that may still pass. Below the retentions, so that sweeps forget nothing.
    private var rest = 6 * 24 * 60
    private var used = [0]

    init(seed: UInt64) {
        generator = SeededGenerator(seed: seed)
        mixesKinds = Int.random(in: 0..<3, using: &generator) == 0
        isAboutPhones = Int.random(in: 0..<3, using: &generator) == 0
    }

    mutating func number(in range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &generator) }
    private mutating func one(of count: Int) -> Int { number(in: 0...count - 1) }
    private mutating func isOne(in count: Int) -> Bool { one(of: count) == 0 }
    private mutating func optional(_ count: Int) -> Int? { isOne(in: 2) ? nil : one(of: count) }

    mutating func call() -> Call {
        let activity = one(of: Names.activities)
        let alias = one(of: Names.aliases)
        let kind = one(of: 60)
        switch isAboutPhones && kind < 20 ? 28 + kind % 12 : kind {
        case 0..<15:
            return .register(
                activity: activity,
                token: token(.update),
                ago: ago(),
                startedAgo: isOne(in: 6) ? start() : nil,
                startsIn: isOne(in: 5) ? [30, 600][one(of: 2)] : nil,
                alias: optional(Names.aliases),
                by: caller()
            )
        case 15..<20: return .registerName(alias: isOne(in: 4) ? 1 : 0, token: token(.update), ago: ago(), by: caller())
        case 20..<22: return .end(activity: activity, ago: ago(), by: caller())
        case 22: return .endName(alias: isOne(in: 4) ? 1 : 0, ago: ago(), by: caller())
        case 23: return isOne(in: 3) ? .endAlias(alias: alias) : .release(activity: activity)
        case 24..<28: return fullState()
        case 28..<31: return .profile(alias: optional(Names.aliases), ago: ago(), by: phone())
        case 31..<38:
            let slot = slot()
            return .put(slot: slot, token: token(slot.kind), ago: ago(), by: phone())
        case 38: return .delete(slot: slot(), ago: ago(), by: phone())
        case 39: return .logOut(ago: ago(), by: phone())
        case 40..<49: return .feedback(reports: reports())
        case 49: return isOne(in: 2) ? .releaseSlot(slot: slot(), installation: one(of: 2)) : .releaseAll
        case 50: return mixesKinds ? .sweep : isOne(in: 2) ? .eraseAlias(alias) : .eraseUser(one(of: Names.users))
        case 51..<54: return isOne(in: 4) ? .releaseLease : .plan(alias: one(of: 2), lease: one(of: 2))
        case 54:
            let reason = StaleReason.allCases[one(of: 3)]
            // A quarantined value is listed for the kind that was reported, not for other kinds.
            let isListed = reason != .quarantined || !mixesKinds
            return .purge(kind: Call.Kind.allCases[one(of: 4)], reason: isListed ? reason : .unconfirmed)
        case 55: return .sweep
        default: return pass()
        }
    }

    /// No value is near the ten minutes of the burst guard or the five of the clock's tolerance.
    private mutating func ago() -> Int? {
        switch one(of: 16) {
        case 0..<7: nil
        case 7: -3
        case 8: isOne(in: 3) ? -30 : isOne(in: 2) ? 500 : nil
        default: [0, 1, 2, 3, 15, 30][one(of: 6)]
        }
    }

    private mutating func start() -> Int { [1, 15, 460, 500][one(of: 4)] }

    private mutating func pass() -> Call {
        let minutes = min(rest, [15, 15, 30, 470, 1500][one(of: 5)])
        rest -= minutes
        return .pass(minutes: minutes)
    }

    private mutating func token(_ kind: Call.Kind) -> Int {
        let token =
            switch kind {
            case _ where mixesKinds: one(of: 4)
            case .update: one(of: 5)
            case .start: 5 + one(of: 2)
            case .device: 7 + one(of: 2)
            case .widget: 9 + one(of: 2)
            }
        used.append(token)
        return token
    }

    private mutating func slot() -> Call.Slot { Call.Slot.allCases[one(of: 4)] }

    private mutating func caller() -> Call.Caller {
        guard isOne(in: 4) else { return phone() }
        return isOne(in: 2) ? Call.Caller() : Call.Caller(isClient: true, user: 0)
    }

    private mutating func phone() -> Call.Caller {
        let user = isOne(in: 3) ? one(of: Names.users) : nil
        return Call.Caller(
            isClient: user != nil || isOne(in: 4),
            user: user,
            installation: isOne(in: 4) ? 1 : 0
        )
    }

    private mutating func fullState() -> Call {
        let items = (0..<one(of: 4)).map { _ in
            Call.Item(activity: one(of: Names.activities), token: isOne(in: 3) ? nil : token(.update))
        }
        return .fullState(items: items, ago: ago() ?? 0, by: phone())
    }

    /// Sometimes a burst about all tokens of a kind.
    private mutating func reports() -> [Call.Report] {
        if isOne(in: 6) {
            let tokens = isOne(in: 3) ? 5..<Names.tokens : 0..<5
            return tokens.map { Call.Report(token: $0, status: .suspect, ago: nil, isOfLease: false) }
        }
        return (0...one(of: 3)).map { _ in
            Call.Report(
                token: isOne(in: 12) ? 11 : used[one(of: used.count)],
                status: Call.Report.Status.allCases[one(of: 4)],
                ago: ago(),
                isOfLease: isOne(in: 4)
            )
        }
    }
}
