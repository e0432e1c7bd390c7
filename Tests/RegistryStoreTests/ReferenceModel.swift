import RegistryCore

/// The state that results from a set of calls by the rules, in any order: a fold without Postgres.
///
/// Times are minutes from the present.
struct ReferenceModel {
    struct Claim: Hashable {
        let observedAt: Int
        /// Breaks ties: the digest's rank among an activity's tokens, the activity among a token's owners.
        let tieBreak: Int
        let value: Int
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

    /// The lifetime of an activity in minutes.
    static let lifetime = 480

    private var activities: [Int: Activity] = [:]
    private var owners: [Int: Claim] = [:]
    private var fullStates: [Int: Int] = [:]
    private var deaths: [Int: Int] = [:]
    private let ranks: [Int]

    /// - Parameter ranks: the position of each token in the order of digests.
    init(_ calls: [Call], ranks: [Int]) {
        self.ranks = ranks
        for call in calls { fold(call) }
    }

    var view: CallView {
        var (view, tokens): (CallView, [Int: Set<Int>]) = (CallView(), [:])
        for (number, known) in activities {
            let (state, reason, isEnded) = (state(known), reason(known.token, number), known.endedAt != nil)
            let times = isEnded ? [nil, nil, known.endedAt] : [known.startedAt, known.startsAt, nil]
            view.add("a\(number)", state, reason, known.token?.value, facts: times)
            guard state == .active, reason == nil, let alias = known.alias, let token = known.token else { continue }
            tokens[alias.value, default: []].insert(token.value)
        }
        for (alias, tokens) in tokens { view.add(tokens, under: alias) }
        for installation in fullStates.keys { view.add(installation: installation, user: nil, aliases: []) }
        return view
    }

    private func state(_ activity: Activity) -> ActivityState {
        if activity.endedAt != nil { return .ended }
        if max(activity.startedAt ?? 0, activity.startsAt ?? .min) + Self.lifetime <= 0 { return .expired }
        let fullState = activity.installation.flatMap { fullStates[$0] } ?? .min
        return fullState > activity.observedAt ?? .min ? .dismissed : .active
    }

    /// A death at the time of the latest claim counts, too.
    private func reason(_ token: Claim?, _ activity: Int) -> String? {
        guard let token else { return nil }
        if owners[token.value]?.value != activity { return "taken-over" }
        return token.observedAt <= deaths[token.value] ?? .min ? "unregistered" : nil
    }

    private mutating func fold(_ call: Call) {
        let time = -(call.ago ?? 0)
        switch call.rule {
        case .feedback:
            for report in call.parts {
                let token = report.token ?? 0
                deaths[token] = max(deaths[token] ?? .min, -(report.ago ?? 0))
            }
        case .register:
            let startsAt = call.startsIn.flatMap { $0 > time ? $0 : nil }
            let start = call.startedAgo.map(-) ?? time
            // A registration that has expired by its own times is rejected.
            guard max(start, startsAt ?? start) + Self.lifetime > 0 else { return }
            observe(call.activity, at: time, startedAt: start, installation: call.installation)
            if let startsAt { activities[call.activity]?.startsAt = startsAt }
            claim(call.token ?? 0, for: call.activity, at: time)
            for alias in call.aliases ?? [] {
                activities[call.activity]?.alias.replace(Claim(observedAt: time, tieBreak: alias, value: alias))
            }
        case .end:
            let end = activities[call.activity]?.endedAt ?? .max
            activities[call.activity, default: Activity()].endedAt = min(end, time)
        case .fullState:
            let installation = call.installation ?? 0
            fullStates[installation] = max(fullStates[installation] ?? .min, time)
            var (activities, tokens): (Set<Int>, Set<Int>) = ([], [])
            // Each activity and each token counts where it is listed first.
            for item in call.parts where activities.insert(item.activity).inserted {
                observe(item.activity, at: time, startedAt: time, installation: installation)
                guard let token = item.token, tokens.insert(token).inserted else { continue }
                claim(token, for: item.activity, at: time)
            }
        default: break
        }
    }

    private mutating func observe(_ activity: Int, at time: Int, startedAt: Int, installation: Int?) {
        var known = activities[activity, default: Activity()]
        known.observedAt = max(known.observedAt ?? .min, time)
        known.startedAt = min(known.startedAt ?? .max, startedAt)
        known.installation = known.installation ?? installation
        activities[activity] = known
    }

    private mutating func claim(_ token: Int, for activity: Int, at time: Int) {
        activities[activity]?.token.replace(Claim(observedAt: time, tieBreak: ranks[token], value: token))
        owners[token].replace(Claim(observedAt: time, tieBreak: activity, value: activity))
    }
}

extension ReferenceModel.Claim? {
    /// The greatest (time, tie-break) stays.
    fileprivate mutating func replace(_ new: ReferenceModel.Claim) {
        guard let stored = self else { return self = new }
        if (stored.observedAt, stored.tieBreak) < (new.observedAt, new.tieBreak) { self = new }
    }
}
