import RegistryCore
import RegistryStore
import TestSupport

/// A call of a client, a sender or an admin, or a part of one. Numbers stand for names; times are minutes before the call.
struct Call: Hashable, Sendable {
    enum Rule: String, CaseIterable, Sendable {
        case register, registerName, end, endName, endAlias
        case fullState, profile, putShared, putOwned, delete, logOut
        case feedback, release, releaseSlot, releaseAll, erase, purge, sweep
        case plan, releaseLease, channel
        /// An activity of a full state, and a report of feedback.
        case item, report
        /// Not a call: time passes.
        case pass
    }

    enum Status: Int, CaseIterable, Sendable {
        case delivered = 200
        case suspect = 400
        case dead = 410
        case failed = 500
    }

    /// In the order of the service, which breaks ties.
    enum Kind: String, CaseIterable, Comparable, Sendable {
        case device, start, update, widget

        static func < (left: Kind, right: Kind) -> Bool { left.rawValue < right.rawValue }
    }

    enum Slot: String, CaseIterable, Sendable {
        case delivery, match, device, widget

        var kind: Kind { Kind(rawValue: rawValue) ?? .start }
        /// Start tokens may repeat.
        var hasOneOwner: Bool { kind != .start }
        var rule: Rule { hasOneOwner ? .putOwned : .putShared }
    }

    let rule: Rule
    var activity = 0
    var token: Int?
    var alias = 0
    /// The aliases that a record gets.
    var aliases: [Int]?
    /// Nil is the time of receipt, or no time in a report; negative is the time of a fast clock.
    var ago: Int?
    var startedAgo: Int?
    var startsIn: Int?
    /// The attributes type of an activity.
    var type: Int?
    /// Of a profile.
    var metadata: String?
    var slot = Slot.delivery
    /// A client without a user has a publishable key; a caller who is no client is a backend.
    var isClient = false
    var user: Int?
    var installation: Int?
    var parts: [Call] = []
    var status = Status.delivered
    /// Whether a report names the last lease.
    var isOfLease = false
    var kind = Kind.update
    var reason = StaleReason.unconfirmed
    var lease = 0
    /// The time that passes, or without a confirmation after which a purge drops tokens.
    var minutes = 0

    var name: Int? { rule == .registerName ? alias : nil }
    /// With the name, unless it only is the default.
    var givenAliases: [Int]? { aliases.map { Set($0 + [name].compactMap(\.self)).sorted() } }
    var userOrAlias: CallModel.Name { user.map(CallModel.Name.user) ?? .alias(alias) }
}

extension Call: CustomStringConvertible {
    /// Like the source in the corpus: the fields that differ from those of the plainest call.
    var description: String {
        let fields = zip(Mirror(reflecting: self).children, Mirror(reflecting: Call(rule: rule)).children).dropFirst()
        let given = fields.filter { "\($0.value)" != "\($1.value)" }.map { "\($0.0.label ?? ""): \($0.0.value)" }
        return "Call(" + (["rule: .\(rule)"] + given).joined(separator: ", ") + ")"
    }
}

/// Few activities, tokens, installations, users and aliases, so that calls concern equal records.
enum Names { static let (activities, tokens, installations, users, aliases) = (4, 12, 2, 2, 3) }

/// A sequence of all calls, each answered before the next.
struct CallHistory: Hashable, Sendable {
    var calls: [Call]

    init(_ calls: [Call]) { self.calls = calls }

    init(seed: UInt64, count: ClosedRange<Int> = 16...40) {
        var random = RandomCalls(seed: seed)
        calls = (0..<random.number(in: count)).map { _ in random.call() }
    }
}

private struct RandomCalls {
    private var generator: SeededGenerator
    /// Whether values of one kind are registered as another. An erasure forgets a value's kinds, so these histories have none.
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
    private mutating func one<Value>(of values: [Value]) -> Value { values[one(of: values.count)] }
    private mutating func isOne(in count: Int) -> Bool { one(of: count) == 0 }

    mutating func call() -> Call {
        let (activity, alias, slot) = (one(of: Names.activities), one(of: Names.aliases), one(of: Call.Slot.allCases))
        let kind = one(of: 60)
        switch isAboutPhones && kind < 20 ? 28 + kind % 12 : kind {
        case 0..<15:
            var call = Call(rule: .register, activity: activity, token: token(.update), aliases: aliases(), ago: ago())
            call.startedAgo = isOne(in: 6) ? one(of: [1, 15, 460, 500]) : nil
            call.startsIn = isOne(in: 5) ? one(of: [30, 600]) : nil
            call.type = isOne(in: 3) ? one(of: 2) : nil
            return fromCaller(call)
        case 15..<20:
            let aliases: [Int]? = isOne(in: 4) ? [2] : nil
            let (token, name) = (token(.update), name())
            return fromCaller(Call(rule: .registerName, token: token, alias: name, aliases: aliases, ago: ago()))
        case 20..<22: return fromCaller(Call(rule: .end, activity: activity, ago: ago()))
        case 22: return fromCaller(Call(rule: .endName, alias: name(), ago: ago()))
        case 23: return isOne(in: 3) ? Call(rule: .endAlias, alias: alias) : Call(rule: .release, activity: activity)
        case 24..<28:
            let items = (0..<one(of: 4)).map { _ in
                Call(rule: .item, activity: one(of: Names.activities), token: isOne(in: 3) ? nil : token(.update))
            }
            return fromPhone(Call(rule: .fullState, ago: ago() ?? 0, parts: items))
        case 28..<31: return fromPhone(Call(rule: .profile, aliases: aliases(), ago: ago()))
        case 31..<38: return fromPhone(Call(rule: slot.rule, token: token(slot.kind), ago: ago(), slot: slot))
        case 38: return fromPhone(Call(rule: .delete, ago: ago(), slot: slot))
        case 39: return fromPhone(Call(rule: .logOut, ago: ago()))
        case 40..<49: return Call(rule: .feedback, parts: reports())
        case 49 where isOne(in: 2): return Call(rule: .releaseSlot, slot: slot, installation: one(of: 2))
        case 49: return Call(rule: .releaseAll)
        case 50 where mixesKinds: return Call(rule: .sweep)
        case 50: return isOne(in: 2) ? Call(rule: .erase, alias: alias) : Call(rule: .erase, user: one(of: Names.users))
        case 51..<54:
            return isOne(in: 4) ? Call(rule: .releaseLease) : Call(rule: .plan, alias: one(of: 2), lease: one(of: 2))
        case 54:
            let (kind, reason) = (one(of: Call.Kind.allCases), one(of: StaleReason.allCases))
            // A quarantined value is listed for the kind that was reported, not for other kinds.
            let isListed = reason != .quarantined || !mixesKinds
            let minutes = one(of: [0, 10])
            return Call(rule: .purge, kind: kind, reason: isListed ? reason : .unconfirmed, minutes: minutes)
        case 55: return isOne(in: 2) ? Call(rule: .sweep) : Call(rule: .channel, token: channel(), alias: alias)
        default:
            let minutes = min(rest, one(of: [15, 15, 30, 470, 1500]))
            rest -= minutes
            return Call(rule: .pass, minutes: minutes)
        }
    }

    /// No value is near the ten minutes of the burst guard or the five of the clock's tolerance.
    private mutating func ago() -> Int? {
        switch one(of: 16) {
        case 0..<7: nil
        case 7: -3
        case 8: isOne(in: 3) ? -30 : isOne(in: 2) ? 500 : nil
        default: one(of: [0, 1, 2, 3, 15, 30])
        }
    }

    private mutating func channel() -> Int? { isOne(in: 3) ? nil : one(of: 2) }
    private mutating func name() -> Int { isOne(in: 4) ? 1 : 0 }

    private mutating func aliases() -> [Int]? {
        if isOne(in: 2) { return nil }
        return isOne(in: 8) ? one(of: [[], [0, 2]]) : [one(of: Names.aliases)]
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

    private mutating func fromCaller(_ call: Call) -> Call {
        guard isOne(in: 4) else { return fromPhone(call) }
        var call = call
        if isOne(in: 2) { (call.isClient, call.user) = (true, 0) }
        return call
    }

    private mutating func fromPhone(_ call: Call) -> Call {
        var call = call
        call.user = isOne(in: 3) ? one(of: Names.users) : nil
        call.isClient = call.user != nil || isOne(in: 4)
        call.installation = isOne(in: 4) ? 1 : 0
        return call
    }

    /// Sometimes a burst about all tokens of a kind.
    private mutating func reports() -> [Call] {
        if isOne(in: 6) {
            return (isOne(in: 3) ? 5..<Names.tokens : 0..<5).map { Call(rule: .report, token: $0, status: .suspect) }
        }
        return (0...one(of: 3)).map { _ in
            let (token, status) = (isOne(in: 12) ? 11 : one(of: used), one(of: Call.Status.allCases))
            return Call(rule: .report, token: token, ago: ago(), status: status, isOfLease: isOne(in: 4))
        }
    }
}

extension CallHistory {
    private static func phone(_ rule: Call.Rule, by user: Int?, ago: Int?, _ aliases: [Int]? = nil) -> Call {
        Call(rule: rule, aliases: aliases, ago: ago, isClient: true, user: user, installation: 0)
    }

    private static func device(ago: Int?) -> Call {
        Call(rule: .putOwned, token: 7, ago: ago, slot: .device, isClient: true, installation: 0)
    }

    /// Histories of earlier faults, and of races that clients have. Every run replays them.
    static let corpus: [[Call]] = [
        // The end arrives before its registration.
        [Call(rule: .end, ago: 1), Call(rule: .register, token: 0, ago: 2)],
        // APNs reports a death at the time of the claim.
        [
            Call(rule: .register, token: 0, aliases: [0], ago: 2),
            Call(rule: .feedback, parts: [Call(rule: .report, token: 0, ago: 2, status: .dead)]),
            Call(rule: .register, token: 0, ago: 2), Call(rule: .register, token: 0, ago: 1),
        ],
        // A user takes over a phone; the former user's late profile arrives after that.
        [
            phone(.profile, by: 0, ago: 3, [2]),
            Call(rule: .putShared, token: 5, isClient: true, user: 0, installation: 0),
            phone(.profile, by: 1, ago: 1, [0]), phone(.profile, by: 0, ago: 2, [2]),
            Call(rule: .plan, lease: 0), Call(rule: .plan, lease: 1),
        ],
        // The late profile of another user removes the owner's older aliases.
        [phone(.profile, by: 0, ago: 3, [0]), phone(.profile, by: 0, ago: 1), phone(.profile, by: 1, ago: 2)],
        // A full state said that it dismissed an activity that a log-out had ended.
        [
            phone(.logOut, by: 1, ago: 3),
            Call(rule: .register, activity: 3, token: 0, aliases: [0], startedAgo: 460, installation: 0),
            Call(rule: .fullState, ago: -3, installation: 0, parts: [Call(rule: .item, activity: 2)]),
        ],
        // A log-out of a fast clock, and an activity that started before it but became known later.
        [
            device(ago: -3), phone(.logOut, by: nil, ago: nil), device(ago: nil),
            Call(rule: .register, activity: 1, token: 1, isClient: true, installation: 0),
        ],
        // A token came back after the data of its later owner was erased.
        [
            device(ago: nil),
            Call(rule: .putOwned, token: 7, slot: .device, isClient: true, user: 1, installation: 1),
            Call(rule: .erase, user: 1), device(ago: nil),
        ],
        // A burst of reports about good tokens trips the guard, which turns off after a quiet time.
        (0..<4).map { Call(rule: .register, activity: $0, token: $0) } + [
            Call(rule: .feedback, parts: (0..<4).map { Call(rule: .report, token: $0, status: .suspect) }),
            Call(rule: .pass, minutes: 15),
            Call(rule: .feedback, parts: [Call(rule: .report, token: 0, status: .suspect)]),
        ],
    ]
}
