import Foundation

/// How far the file and this process agree.
struct Stored {
    var isLoaded = false
    /// Something changed here since the file was written, or is to be looked up in it.
    var isBehind = false
    /// The entries that were in the file when this process last saw it.
    var known: Set<UInt64> = []
    /// The file as this process read or wrote it last: other bytes are another process's.
    var bytes: Data?
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
        if case .bytes(let bytes) = content {
            if state == nil { eventStreams.tell(.fileSetAside) } else { stored.bytes = bytes }
        }
        resume(state ?? StoredState())
    }

    private func resume(_ state: StoredState) {
        stored.isLoaded = true
        clock = state.clock
        user = state.user
        outbox = Outbox(entries: state.entries)
        stored.known = Set(state.entries.map(\.id))
        release()
    }

    /// Writes the file, together with what another process has written since (C11).
    func save() {
        guard stored.isLoaded, stored.isBehind else { return }
        var (events, isForeign, written) = ([RegistryEvent](), false, Data?.none)
        let isDone = configuration.storage.change { content in
            if content == .unreadable { return .keep }
            if case .bytes(let bytes) = content, bytes != stored.bytes {
                if let other = StoredState(bytes) { events = adopt(other) } else { isForeign = true }
            }
            let bytes = state.bytes
            written = bytes
            return isForeign ? .setAside(bytes) : .replace(bytes)
        }
        events.forEach(eventStreams.tell)
        // It stays behind where nothing was written, and is written next time.
        guard isDone, let written else { return }
        if isForeign { eventStreams.tell(.fileSetAside) }
        stored.known = Set(outbox.entries.map(\.id))
        (stored.isBehind, stored.bytes, userChanged) = (false, written, false)
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

    private var state: StoredState {
        var state = StoredState()
        (state.clock, state.user, state.entries) = (clock, user, outbox.entries)
        return state
    }
}
