/// The reports that wait for a response: a value without I/O, clock and randomness (C9).
///
/// An owner has at most one entry per subject. Each method returns the actions and events for its caller.
package struct Outbox: Sendable, Hashable, Codable {
    /// The most entries. Beyond it the oldest entry, except ends, is dropped, because the next full state repeats it.
    package static let limit = 500
    package static let mostUnderWay = 4
    package typealias Event = LiveActivityRegistry.Event

    package internal(set) var entries: [OutboxEntry] = []
    /// Entries that were handed out and have no response, including entries that were replaced since.
    var underWay: Set<UInt64> = []
    /// Owners without a credential, and when their sources are asked again, by the monotonic clock.
    var withoutCredential: [Owner: Duration] = [:]
    var silence: Silence?

    /// Only the entries are stored, so that all are tried at each launch.
    private enum CodingKeys: CodingKey { case entries }

    /// The time since which no response has come, and when the next request tries.
    struct Silence: Sendable, Hashable {
        let since: Timestamp
        var count = 0
        var notBefore = Duration.zero
    }

    /// - Returns: events for entries that were dropped because the outbox is full.
    package mutating func add(_ entry: OutboxEntry) -> [Event] {
        // A new report is tried at once, even during silence.
        silence?.notBefore = .zero
        return insert(entry)
    }

    private mutating func insert(_ entry: OutboxEntry) -> [Event] {
        guard !entries.contains(where: { $0.absorbs(entry) }) else { return [] }
        let absorbed = entries.filter { entry.absorbs($0) }
        entries.removeAll { entry.absorbs($0) }
        return absorbed.compactMap { $0.end(by: entry) }.flatMap { insert($0) } + place(entry)
    }

    private mutating func place(_ entry: OutboxEntry) -> [Event] {
        let index = entries.firstIndex { $0.subject == entry.subject && $0.owner == entry.owner }
        let other = index.map { entries.remove(at: $0) }
        entries.append(other.map(entry.merged) ?? entry)
        guard entries.count > Self.limit else { return [] }
        let candidates = entries.indices.filter { !entries[$0].report.isFinal }
        let oldest = (candidates.isEmpty ? Array(entries.indices) : candidates)
            .min { entries[$0].observedAt < entries[$1].observedAt }
        return oldest.map { [.dropped(entries.remove(at: $0).subject)] } ?? []
    }

    /// Moves the times of all entries that cannot have been accepted yet, in their order (C15). The others keep their times and note
    /// the correction, until the registry refuses the time or the request turns out not to have left the phone (C21).
    ///
    /// - Parameters:
    ///   - floor: the greatest time that the registry may have accepted.
    ///   - now: no entry was observed later.
    ///   - notAccepted: an entry that was not accepted, although its time is no later than the floor.
    /// - Returns: the greatest time of all entries.
    package mutating func move(
        by shift: Duration,
        after floor: Timestamp,
        until now: Timestamp,
        notAccepted: UInt64? = nil
    ) -> Timestamp? {
        for index in entries.indices { entries[index].correction += shift }
        var (last, logOut) = (floor, floor)
        let movable = entries.indices.filter { entries[$0].observedAt > floor || entries[$0].id == notAccepted }
        for index in movable.sorted(by: { entries[$0].correctedTime < entries[$1].correctedTime }) {
            last = max(min(entries[index].correctedTime, now), last.next)
            let distance = last - entries[index].observedAt
            // An activity's start stays later than a log-out before it, which would end the activity.
            entries[index].report.moveStart { max($0 + distance, $0 > floor ? logOut.next : $0) }
            (entries[index].observedAt, entries[index].correction) = (last, .zero)
            if entries[index].report == .logOut { logOut = last }
        }
        return entries.map(\.observedAt).max()
    }

    package enum Step: Sendable, Equatable {
        /// Sends an entry, which is under way until its response.
        case send(OutboxEntry)
        /// Asks again at this time of the monotonic clock.
        case wait(until: Duration)
        /// Asks again after the next change.
        case rest
    }

    /// Hands out the next entry to send. Call it until it returns another step.
    package mutating func next(at uptime: Duration) -> Step {
        let step = upcoming(at: uptime)
        if case .send(let entry) = step { underWay.insert(entry.id) }
        return step
    }

    /// The next step, without handing an entry out.
    ///
    /// While no response comes, one entry at a time tries: the one with the fewest tries, so that no entry blocks another.
    package func upcoming(at uptime: Duration) -> Step {
        guard underWay.count < (silence == nil ? Self.mostUnderWay : 1) else { return .rest }
        let open = openEntries
        guard let soonest = open.map(pauseEnd).min() else { return .rest }
        let start = max(soonest, silence?.notBefore ?? .zero)
        guard start <= uptime else { return .wait(until: start) }
        let due = open.filter { pauseEnd($0) <= uptime }
        let entry = due.min { ($0.tries.count, $0.observedAt) < ($1.tries.count, $1.observedAt) }
        return entry.map(Step.send) ?? .rest
    }

    private func pauseEnd(_ entry: OutboxEntry) -> Duration {
        max(entry.tries.notBefore, withoutCredential[entry.owner] ?? .zero)
    }

    private var openEntries: [OutboxEntry] {
        let authorized = entries.filter { !$0.tries.needsUser }
        let first = authorized.filter(\.mayPrecede)
        return authorized.filter { entry in !underWay.contains(entry.id) && !first.contains { $0.precedes(entry) } }
    }

    /// Ends all pauses except those that the registry asked for (C13).
    package mutating func retryNow() {
        silence?.notBefore = .zero
        withoutCredential = [:]
        endPauses { _ in true }
    }

    mutating func endPauses(where isMeant: (OutboxEntry) -> Bool) {
        for index in entries.indices where !entries[index].tries.isAsked && isMeant(entries[index]) {
            entries[index].tries.notBefore = .zero
        }
    }

    /// An entry that was handed out has no credential: all entries of its owner wait.
    package mutating func credentialIsMissing(for entry: OutboxEntry, until uptime: Duration) {
        underWay.remove(entry.id)
        withoutCredential[entry.owner] = uptime
    }

    /// An entry needs its user's JWT, while the key serves others of that user.
    mutating func needsUser(_ id: UInt64) {
        underWay.remove(id)
        if let index = entries.firstIndex(where: { $0.id == id }) { entries[index].tries.needsUser = true }
    }

    /// A new credential: all that waited for it is tried now.
    package mutating func credentialCame(for owner: Owner) {
        withoutCredential[owner] = nil
        for index in entries.indices where entries[index].owner == owner { entries[index].tries.needsUser = false }
        endPauses { $0.owner == owner }
    }

    package static let mostUploadsInBackground = 50

    /// All that the system may send while the app sleeps (C19): ends and log-outs first, then the newest.
    ///
    /// The system sends in any order. An entry that a waiting log-out must precede stays here, because the registry refuses the
    /// log-out once the next user has the installation. Entries that were refused, or that have to pause, wait for the app.
    package var uploadsInBackground: [OutboxEntry] {
        let logOut = entries.filter { $0.report == .logOut && $0.refusedSince == nil }.map(\.observedAt).min()
        let ready = entries.filter { entry in
            guard entry.refusedSince == nil, entry.tries.refusals.isEmpty, !entry.tries.isAsked else { return false }
            return entry.report.isFinal || logOut.map { entry.observedAt < $0 } ?? true
        }
        let newest = ready.sorted { $0.observedAt > $1.observedAt }
        let ordered = newest.filter(\.report.isFinal) + newest.filter { !$0.report.isFinal }
        return Array(ordered.prefix(Self.mostUploadsInBackground))
    }
}
