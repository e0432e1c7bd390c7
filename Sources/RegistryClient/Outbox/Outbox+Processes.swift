extension Outbox {
    /// Brings together what this process has and what is in the file, which another process may have changed since (C11).
    ///
    /// - Parameters:
    ///   - stored: the entries in the file now.
    ///   - known: the ids of the entries that were in it when this process last saw it.
    /// - Returns: what was given up for want of room.
    package mutating func merge(_ stored: [OutboxEntry], known: Set<UInt64>) -> [RegistryEvent] {
        let theirs = Set(stored.map(\.id))
        let ours = Set(entries.map(\.id))
        // Entries that are no longer in the file were answered or replaced by the other process.
        let kept = entries.filter { theirs.contains($0.id) || !known.contains($0.id) }
        // Entries that are known and no longer here were answered or replaced by this one.
        let new = stored.filter { !known.contains($0.id) && !ours.contains($0.id) }
        entries = []
        return (kept + new).sorted { $0.observedAt < $1.observedAt }.flatMap { insert($0) }
    }

    /// Another process has signed somebody in or out, which this one did not know when it made its last entries: they are the new
    /// owner's. Under the owner before they would wait for a credential that nobody gives any more.
    ///
    /// - Parameter known: the ids of the entries that were in the file when this process last saw it. All others were made since, for
    ///   each is written at once.
    package mutating func changesHands(from old: Owner, to new: Owner, known: Set<UInt64>) {
        for index in entries.indices where entries[index].owner == old && !known.contains(entries[index].id) {
            if entries[index].report != .logOut { entries[index].owner = new }
        }
    }
}
