import RegistryCore
import TestSupport

/// A client's request or a sender's report, used by the reference model and the registry.
enum ClientRequest: Hashable {
    case register(Registration)
    case end(activity: Int, observedAt: Int)
    /// Activities and their tokens.
    case fullState(installation: Int, observedAt: Int, items: [Item])
    /// A sender's report that APNs returned 410 with this time of death.
    case death(token: Int, at: Int)

    struct Registration: Hashable {
        let activity: Int
        let token: Int
        let observedAt: Int
        let startedAt: Int?
        let startsAt: Int?
        let installation: Int?
        let alias: Int?

        /// The start time if it is later than its observation.
        var scheduledStart: Int? { startsAt.flatMap { $0 > observedAt ? $0 : nil } }

        /// Whether the activity has expired by the registration's own times. Such a registration is rejected.
        var isOver: Bool {
            let start = startedAt ?? observedAt
            return max(start, scheduledStart ?? start) + ReferenceModel.lifetime <= ReferenceModel.now
        }
    }

    struct Item: Hashable {
        let activity: Int
        let token: Int?
    }
}

/// The state that results from a set of requests by the rules: a fold without Postgres.
struct ReferenceModel {
    struct Claim: Hashable {
        let observedAt: Int
        /// Breaks ties: the digest among an activity's tokens, the activity among a token's owners.
        let tieBreak: [UInt8]
        let value: Int

        static func precedes(_ left: Claim, _ right: Claim) -> Bool {
            left.observedAt == right.observedAt
                ? left.tieBreak.lexicographicallyPrecedes(right.tieBreak) : left.observedAt < right.observedAt
        }
    }

    struct Activity: Hashable {
        var token: Claim?
        var observedAt: Int?
        var startedAt: Int?
        var startsAt: Int?
        var endedAt: Int?
        var installation: Int?
        var alias: Claim?
    }

    struct View: Hashable {
        let state: ActivityState
        /// Nil unless it is deliverable.
        let token: Int?
        let startedAt: Int?
        let startsAt: Int?
        let endedAt: Int?
        let alias: Int?
    }

    /// The minute at which histories are played, and the lifetime of an activity in minutes.
    static let (now, lifetime) = (60, 480)

    private(set) var activities: [Int: Activity] = [:]
    private(set) var owners: [Int: Claim] = [:]
    private(set) var fullStates: [Int: Int] = [:]
    private(set) var deaths: [Int: Int] = [:]
    private let digest: (Int) -> [UInt8]

    /// - Parameter digest: the SHA-256 of a token.
    init(_ requests: some Sequence<ClientRequest>, digest: @escaping (Int) -> [UInt8]) {
        self.digest = digest
        for request in requests { fold(request) }
    }

    func view(_ activity: Int) -> View? {
        guard let known = activities[activity] else { return nil }
        let fullState = known.installation.flatMap { fullStates[$0] }
        let isDismissed = fullState.map { $0 > known.observedAt ?? .min } ?? false
        let start = max(known.startedAt ?? Self.now, known.startsAt ?? .min)
        let isExpired = start + Self.lifetime <= Self.now
        let state: ActivityState =
            known.endedAt != nil ? .ended : isExpired ? .expired : isDismissed ? .dismissed : .active
        let isOwner = known.token.flatMap { owners[$0.value]?.value } == activity
        return View(
            state: state,
            token: state == .active && isOwner && !isDead(known.token) ? known.token?.value : nil,
            startedAt: known.endedAt == nil ? known.startedAt : nil,
            startsAt: known.endedAt == nil ? known.startsAt : nil,
            endedAt: known.endedAt,
            alias: known.alias?.value
        )
    }

    /// A death at the time of the latest claim counts, too.
    private func isDead(_ token: Claim?) -> Bool {
        guard let token, let death = deaths[token.value] else { return false }
        return token.observedAt <= death
    }

    private mutating func fold(_ request: ClientRequest) {
        switch request {
        case .death(let token, let time): deaths[token] = max(deaths[token] ?? .min, time)
        case .register(let request):
            guard !request.isOver else { return }
            let (activity, time) = (request.activity, request.observedAt)
            observe(activity, at: time, startedAt: request.startedAt, installation: request.installation)
            if let startsAt = request.scheduledStart { activities[activity]?.startsAt = startsAt }
            claim(request.token, for: activity, at: time)
            if let alias = request.alias { self.alias(alias, for: activity, at: time) }
        case .end(let activity, let time):
            activities[activity, default: Activity()].endedAt.lower(to: time)
        case .fullState(let installation, let time, let items):
            fullStates[installation] = max(fullStates[installation] ?? .min, time)
            var (activities, tokens): (Set<Int>, Set<Int>) = ([], [])
            // Each activity and each token counts where it is listed first.
            for item in items where activities.insert(item.activity).inserted {
                observe(item.activity, at: time, startedAt: nil, installation: installation)
                guard let token = item.token, tokens.insert(token).inserted else { continue }
                claim(token, for: item.activity, at: time)
            }
        }
    }

    private mutating func observe(_ activity: Int, at time: Int, startedAt: Int?, installation: Int?) {
        var known = activities[activity, default: Activity()]
        known.observedAt = max(known.observedAt ?? .min, time)
        known.startedAt.lower(to: startedAt ?? time)
        known.installation = known.installation ?? installation
        activities[activity] = known
    }

    private mutating func claim(_ token: Int, for activity: Int, at time: Int) {
        let claim = Claim(observedAt: time, tieBreak: digest(token), value: token)
        if activities[activity]?.token.map({ Claim.precedes($0, claim) }) ?? true {
            activities[activity, default: Activity()].token = claim
        }
        let ownership = Claim(observedAt: time, tieBreak: Array("a\(activity)".utf8), value: activity)
        if owners[token].map({ Claim.precedes($0, ownership) }) ?? true { owners[token] = ownership }
    }

    private mutating func alias(_ alias: Int, for activity: Int, at time: Int) {
        let claim = Claim(observedAt: time, tieBreak: [UInt8(alias)], value: alias)
        if activities[activity]?.alias.map({ Claim.precedes($0, claim) }) ?? true {
            activities[activity, default: Activity()].alias = claim
        }
    }
}

extension Int? {
    fileprivate mutating func lower(to value: Int) { self = Swift.min(self ?? .max, value) }
}
