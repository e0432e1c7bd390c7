/// How far the file and this process agree.
struct Stored {
    var isLoaded = false
    /// Something changed here since the file was written, or is to be looked up in it.
    var isBehind = false
    /// The entries that were in the file when this process last saw it.
    var known: Set<UInt64> = []
    /// The edition of the file that this process read or wrote last.
    var edition: UInt64 = 0
}

extension LiveActivityRegistry {
    /// Reads the file, and the installation id, if that was not possible before (C10, C17).
    func load() {
        if installationID == nil {
            installationID = InstallationID.current(in: configuration.secrets, random: configuration.random)
        }
        guard !stored.isLoaded else { return }
        var (content, state) = (StoredContent.unreadable, StoredState?.none)
        let isDone = configuration.storage.change { found in
            content = found
            guard case .bytes(let bytes) = found else { return .keep }
            state = StoredState(bytes)
            return state == nil ? .setAside(StoredState().bytes) : .keep
        }
        guard isDone, content != .unreadable else { return }
        if case .bytes = content, state == nil { eventStreams.tell(.fileSetAside) }
        resume(state ?? StoredState())
    }

    private func resume(_ state: StoredState) {
        stored.isLoaded = true
        clock = state.clock
        user = state.user
        outbox = Outbox(entries: state.entries)
        stored.known = Set(state.entries.map(\.id))
        stored.edition = state.edition
        release()
    }

    /// Writes the file, together with what another process has written since (C11).
    func save() {
        guard stored.isLoaded, stored.isBehind else { return }
        var (events, isForeign) = ([RegistryEvent](), false)
        let edition = configuration.random()
        let isDone = configuration.storage.change { content in
            switch content {
            case .unreadable: return .keep
            case .none: return .replace(state(edition).bytes)
            case .bytes(let bytes):
                guard let other = StoredState(bytes) else {
                    isForeign = true
                    return .setAside(state(edition).bytes)
                }
                if other.edition != stored.edition { events = adopt(other) }
                return .replace(state(edition).bytes)
            }
        }
        events.forEach(eventStreams.tell)
        guard isDone else { return }
        if isForeign { eventStreams.tell(.fileSetAside) }
        stored.known = Set(outbox.entries.map(\.id))
        (stored.isBehind, stored.edition, userChanged) = (false, edition, false)
    }

    private func adopt(_ other: StoredState) -> [RegistryEvent] {
        clock.adopt(other.clock)
        if !userChanged, user != other.user {
            let before = owner
            user = other.user
            outbox.changesHands(from: before, to: owner, known: stored.known)
        }
        return outbox.merge(other.entries, known: stored.known)
    }

    private func state(_ edition: UInt64) -> StoredState {
        var state = StoredState()
        (state.clock, state.user, state.entries) = (clock, user, outbox.entries)
        state.edition = edition
        return state
    }
}
