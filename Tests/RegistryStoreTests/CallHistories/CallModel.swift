import RegistryCore

/// The rules told again, one call after another, without Postgres: what each call answers, and what all see afterwards.
///
/// Nothing is stored about withheld tokens: the reason always follows from what is known about the value. Times are
/// thousandths of a minute; a call's receipt is its number in the present minute.
struct CallModel {
    struct Claim: Hashable {
        let token: Int
        var observedAt: Int
        /// Compared with the time of feedback.
        var claimedAt: Int
        /// False once the token is gone; the claim still orders later ones.
        var isPresent = true
    }

    struct Stamped: Hashable {
        let aliases: [Int]
        let at: Int
    }

    struct Activity: NamedRecord {
        var installation: Int?
        var user: Int?
        var startedAt: Int
        var startsAt: Int?
        var endedAt: Int?
        var isExpiryRecorded = false
        var type: Int?
        var observedAt: Int?
        var aliases: Stamped?
        var claim: Claim?
        var confirmedAt = 0
        var expiresAt: Int { max(startedAt, startsAt ?? startedAt) + CallModel.lifetime }
    }

    struct SlotID: Hashable {
        let slot: Call.Slot
        let installation: Int

        init(_ call: Call) { (slot, installation) = (call.slot, call.installation ?? 0) }
    }

    struct Slot {
        var claim: Claim?
        var deletedAt: Int?
        var confirmedAt = 0
    }

    struct Installation: NamedRecord {
        var user: Int?
        /// Nil while only token requests named the user.
        var userAt: Int?
        var takenOverAt: Int?
        var otherUserAt: Int?
        var fullStateAt: Int?
        var loggedOutAt: Int?
        var aliases: Stamped?
    }

    struct Value {
        var owner: (activity: String, at: Int)?
        var installation: (at: Int, hash: Int, kind: Call.Kind)?
        var startAt: Int?
        var deadAt: Int?
        var purgedAt: Int?
        var quarantine: (at: Int, kind: Call.Kind)?
        var isKnown: Bool { owner != nil || installation != nil || startAt != nil }
    }

    struct Identity: Hashable {
        let alias: Int
        let installation: Int?
        let user: Int?

        init(_ call: Call) {
            (alias, installation) = (call.alias, call.installation)
            user = call.installation == nil ? call.user : nil
        }
    }

    enum Name: Hashable {
        case activity(String)
        case installation(Int)
        case user(Int)
        case alias(Int)
    }

    enum Withheld: String {
        case takenOver = "taken-over"
        case kindConflict = "kind-conflict"
        case unregistered, purged, quarantined
    }

    static let (minute, lifetime, retention) = (1000, 480 * 1000, 7 * 1440 * 1000)

    /// The position of each token in the order of digests, which breaks ties.
    let ranks: [Int]
    var (present, number) = (0, 0)
    var now: Int { present + number }
    var activities: [String: Activity] = [:]
    var slots: [SlotID: Slot] = [:]
    var installations: [Int: Installation] = [:]
    var values: [Int: Value] = [:]
    /// The current activity and the last end of a name and its owner.
    var identities: [Identity: (activity: String?, endedAt: Int?)] = [:]
    var guards: [Call.Kind: (trippedAt: Int?, reportedAt: Int)] = [:]
    var erasures: [Name: Int] = [:]
    var named = 0

    init(ranks: [Int]) { self.ranks = ranks }

    func state(_ activity: Activity) -> ActivityState {
        if activity.endedAt != nil { return .ended }
        if activity.expiresAt <= now { return .expired }
        guard let installation = activity.installation.flatMap({ installations[$0] }) else { return .active }
        if let time = installation.loggedOutAt, time >= activity.startedAt { return .ended }
        if let time = installation.fullStateAt, let seen = activity.observedAt, time > seen { return .dismissed }
        return .active
    }

    func withheld(_ id: String) -> Withheld? {
        guard let claim = activities[id]?.claim else { return nil }
        guard let value = values[claim.token], value.owner?.activity == id else { return .takenOver }
        return value.installation != nil ? .kindConflict : accusation(value, claim)
    }

    func withheld(_ id: SlotID) -> Withheld? {
        guard let claim = slots[id]?.claim, claim.isPresent else { return nil }
        let value = values[claim.token] ?? Value()
        if let installation = value.installation, installation.kind != id.slot.kind { return .kindConflict }
        if id.slot.hasOneOwner, value.installation?.hash != id.installation { return .takenOver }
        return accusation(value, claim)
    }

    func deliverable(_ id: String) -> Int? {
        guard let activity = activities[id], state(activity) == .active, withheld(id) == nil else { return nil }
        return activity.claim.flatMap { $0.isPresent ? $0.token : nil }
    }

    func deliverable(_ id: SlotID) -> Int? {
        if let claim = slots[id]?.claim, claim.isPresent, withheld(id) == nil { claim.token } else { nil }
    }

    func accusation(_ value: Value, _ claim: Claim) -> Withheld? {
        if let time = value.deadAt, claim.claimedAt <= time { return time == value.purgedAt ? .purged : .unregistered }
        if let quarantine = value.quarantine, claim.claimedAt <= quarantine.at { return .quarantined }
        return nil
    }

    func time(_ ago: Int?) -> Int? { ago.map { present - $0 * Self.minute } }
    func isSkewed(_ time: Int?) -> Bool { time.map { $0 > now + 5 * Self.minute } ?? false }

    func precedes(_ left: Claim, _ right: Claim) -> Bool {
        (left.observedAt, ranks[left.token]) < (right.observedAt, ranks[right.token])
    }

    func mayChange(_ activity: Activity, _ call: Call) -> Bool {
        if !call.isClient { return true }
        if let user = call.user, activity.user == user { return true }
        if let installation = call.installation, activity.installation == installation {
            return activity.user == nil || call.user == nil
        }
        return activity.user == nil && activity.installation == nil && activity.claim == nil
    }

    func isErased(_ names: [Name], _ time: Int) -> Bool { names.contains { (erasures[$0] ?? .min) >= time } }

    func isOfAnother(_ call: Call) -> Bool {
        guard let user = call.user, let owner = call.installation.flatMap({ installations[$0]?.user }) else {
            return false
        }
        return user != owner
    }
}

protocol NamedRecord {
    var user: Int? { get }
    var aliases: CallModel.Stamped? { get }
}

extension NamedRecord {
    func has(_ name: CallModel.Name) -> Bool {
        switch name {
        case .alias(let alias): aliases?.aliases.contains(alias) ?? false
        case .user(let user): self.user == user
        case .activity, .installation: false
        }
    }
}

extension CallModel.Stamped? {
    /// The greatest (time, value) stays; the value is compared as the service's JSON.
    mutating func replace(_ aliases: [Int]?, at time: Int) {
        guard let aliases else { return }
        func key(_ aliases: [Int]) -> String { aliases.isEmpty ? "}" : "\(aliases)".dropFirst().description }
        guard let stored = self else { return self = .init(aliases: aliases, at: time) }
        if (stored.at, key(stored.aliases)) < (time, key(aliases)) { self = .init(aliases: aliases, at: time) }
    }
}

/// Results of a call in order; one, except for batches.
struct Reply: Hashable {
    var answers: [Answer]
    /// Released, ended or purged records.
    var count: Int?
    /// Dismissed activities, or kinds with a burst guard that tripped.
    var names: [String] = []

    init(_ answer: Answer, _ count: Int? = nil) { (answers, self.count) = ([answer], count) }
    init(_ answers: [Answer], _ names: [String]) { (self.answers, self.names) = (answers, names) }
}

enum Answer: Hashable {
    case done
    case outcome(RegistrationOutcome)
    case action(FeedbackAction)
    case problem(Problem.Code)
}

extension CallModel {
    mutating func play(_ call: Call) -> Reply {
        number += 1
        switch call.rule {
        case .register: return Reply(register(call, "a\(call.activity)"))
        case .registerName: return Reply(registerName(call))
        case .end: return Reply(end("a\(call.activity)", call))
        case .endName: return Reply(endName(call))
        case .endAlias: return endAll(under: .alias(call.alias))
        case .fullState: return fullState(call)
        case .profile: return Reply(profile(call))
        case .putShared, .putOwned: return Reply(put(call))
        case .delete: return Reply(delete(call))
        case .logOut: return Reply(logOut(call))
        case .feedback: return feedback(call.parts)
        case .release: return release("a\(call.activity)")
        case .releaseSlot: return release(SlotID(call))
        case .releaseAll: return releaseAll()
        case .erase: erase(call.userOrAlias)
        case .purge: return purge(call)
        case .sweep: sweep()
        case .pass: present += call.minutes * Self.minute
        case .plan, .releaseLease, .channel, .item, .report: break
        }
        return Reply(.done)
    }

    /// - Parameter isOfActivities: whether it has the times of activities.
    func view(isOfActivities: Bool = false) -> CallView {
        var view = CallView()
        for (id, activity) in activities where id.hasPrefix("a") {
            let reason = activity.claim?.isPresent == true ? withheld(id)?.rawValue : nil
            let starts: [Int?] = state(activity) == .ended ? [nil, nil] : [activity.startedAt, activity.startsAt]
            let times = (starts + [activity.endedAt]).map { $0.map { $0 / Self.minute } }
            let facts = isOfActivities ? times : [activity.type]
            view.add(id, state(activity), reason, deliverable(id), facts: facts)
        }
        for (id, slot) in slots {
            guard let claim = slot.claim, claim.isPresent else { continue }
            view.add(id.slot, of: id.installation, claim.token, withheld(id)?.rawValue)
        }
        for (hash, installation) in installations {
            view.add(installation: hash, user: installation.user, aliases: installation.aliases?.aliases ?? [])
        }
        for alias in 0..<Names.aliases {
            view.add(tokens(under: alias), under: alias)
            for kind in Call.Kind.allCases where kind != .update {
                let ids = slots.keys.filter {
                    $0.slot.kind == kind && installations[$0.installation]?.has(.alias(alias)) == true
                }
                view.add(ids.compactMap { deliverable($0) }, under: alias, kind: kind.rawValue)
            }
        }
        return view
    }

    func tokens(under alias: Int) -> [Int] {
        activities.filter { $0.value.has(.alias(alias)) }.keys.compactMap { deliverable($0) }
    }
}
