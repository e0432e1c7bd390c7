/// The reports that were not answered yet: a value without I/O, clock and randomness (C9).
///
/// A key has at most one entry for each owner. Every method returns what its caller must do or tell; nothing waits here.
package struct Outbox: Sendable {
    /// The most entries. Beyond it the oldest that is no end is given up: the next full state says it again.
    package static let limit = 500
    /// The most entries that are under way at once.
    package static let mostUnderWay = 4

    package internal(set) var entries: [OutboxEntry] = []
    /// Entries that were handed out and not answered, also those that were replaced since.
    var underWay: Set<UInt64> = []
    /// Owners for whom there is no credential now.
    var withoutCredential: Set<Owner> = []
    var silence: Silence?

    package init(entries: [OutboxEntry] = []) { self.entries = entries }

    /// Since when nobody answers, and when the next one is tried.
    struct Silence: Sendable {
        let since: Timestamp
        var count = 0
        var notBefore = Duration.zero
    }

    /// Takes a report in.
    ///
    /// - Parameters:
    ///   - id: a random number.
    ///   - isObservedAnew: it repeats one that was answered 410 `activity-expired`.
    /// - Returns: what was given up for want of room.
    package mutating func add(
        _ report: Report,
        observedAt: Timestamp,
        owner: Owner,
        id: UInt64,
        isObservedAnew: Bool = false
    ) -> [RegistryEvent] {
        var entry = OutboxEntry(id: id, report: report, observedAt: observedAt, owner: owner)
        entry.isObservedAnew = isObservedAnew
        // Something new is tried at once, whatever became of the others.
        silence?.notBefore = .zero
        return insert(entry)
    }

    mutating func insert(_ entry: OutboxEntry) -> [RegistryEvent] {
        guard !entries.contains(where: { $0.absorbs(entry) }) else { return [] }
        let absorbed = entries.filter { entry.absorbs($0) }
        entries.removeAll { entry.absorbs($0) }
        let dropped = absorbed.flatMap { $0.ends(by: entry) }.flatMap { insert($0) }
        return dropped + place(entry)
    }

    private mutating func place(_ entry: OutboxEntry) -> [RegistryEvent] {
        guard let index = entries.firstIndex(where: { $0.name == entry.name && $0.owner == entry.owner }) else {
            entries.append(entry)
            return shed()
        }
        let other = entries.remove(at: index)
        var merged = entry.merged(with: other)
        merged.isObservedAnew = entry.isObservedAnew
        entries.append(merged)
        return shed() + entry.unlisted(with: other).flatMap { insert($0) }
    }

    private mutating func shed() -> [RegistryEvent] {
        guard entries.count > Self.limit else { return [] }
        let candidates = entries.indices.filter { !entries[$0].report.isFinal }
        let index = (candidates.isEmpty ? Array(entries.indices) : candidates)
            .min { entries[$0].observedAt < entries[$1].observedAt }
        return index.map { [.dropped(entries.remove(at: $0).name, .outboxFull)] } ?? []
    }

    /// Moves the times of all entries that cannot have been accepted yet, in their order (C15). The others keep theirs, and the
    /// correction is noted, until the registry refuses the time or the try turns out not to have left the phone (C21).
    ///
    /// - Parameters:
    ///   - floor: the greatest time that the registry may have accepted; what is no later stays.
    ///   - now: nothing was observed later than this.
    ///   - notAccepted: an entry that was not accepted, though its time is no later than the floor.
    /// - Returns: the greatest time of all entries.
    package mutating func move(
        by shift: Duration,
        after floor: Timestamp,
        until now: Timestamp,
        notAccepted: UInt64? = nil
    ) -> Timestamp? {
        for index in entries.indices { entries[index].correction += shift }
        var last = floor
        let movable = entries.indices.filter { entries[$0].observedAt > floor || entries[$0].id == notAccepted }
        for index in movable.sorted(by: { entries[$0].correctedTime < entries[$1].correctedTime }) {
            last = max(min(entries[index].correctedTime, now), last.next)
            entries[index].correct(to: last)
        }
        return entries.map(\.observedAt).max()
    }
}
