import RegistryCore

package struct InstallationTimes: Sendable, Hashable {
    /// The greatest `observedAt` of its full states (R9). A log-out counts as an empty full state.
    package var fullStateAt: Timestamp?
    /// The greatest time of its log-outs. Everything observed at or before it is gone.
    package var loggedOutAt: Timestamp?

    package init(fullStateAt: Timestamp? = nil, loggedOutAt: Timestamp? = nil) {
        (self.fullStateAt, self.loggedOutAt) = (fullStateAt, loggedOutAt)
    }
}

/// An installation as stored in its locked row.
package struct Installation: Sendable, Hashable {
    package let hash: InstallationHash
    package var times = InstallationTimes()
    package var subject: UTF8Text?
    /// Nil if only token requests named the user. Any user who registers the installation then replaces this user.
    package var subjectObservedAt: Timestamp?
    /// The greatest `observedAt` at which the user changed. Aliases given without a user before it are gone.
    package var takenOverAt: Timestamp?
    /// The greatest `observedAt` of another user's registration. Aliases that are not later are gone.
    package var otherUserObservedAt: Timestamp?
    package var aliases: Stamped<AliasSet>?
    package var metadata: Stamped<Metadata>?

    package init(hash: InstallationHash) { self.hash = hash }

    func isLoggedOut(at time: Timestamp) -> Bool { times.loggedOutAt.map { time <= $0 } ?? false }

    /// Whether another user owns it. A request without a user acts for the installation itself.
    package func belongsToAnother(than subject: UTF8Text?) -> Bool {
        guard let subject, let owner = self.subject else { return false }
        return owner != subject
    }

    /// Lets a request change records of the installation. An installation without a user gets the request's user.
    mutating func adopt(by subject: UTF8Text?, observedAt: Timestamp?) throws(Rejection) {
        if belongsToAnother(than: subject) { throw .notYours }
        if let observedAt, isLoggedOut(at: observedAt) { return }
        self.subject.keepFirst(subject)
    }

    struct Takeover {
        let changesOwner: Bool
        /// The former user's aliases. Pushes to these names must not reach the next user's phone.
        let removedAliases: AliasSet?
    }

    /// The greatest (`observedAt`, subject) owns it. A late registration does not change the owner, but removes older
    /// aliases. Returns nil if no data of another user changed.
    mutating func register(by subject: UTF8Text, observedAt time: Timestamp) -> Takeover? {
        guard !isLoggedOut(at: time) else { return nil }
        let (former, formerObservedAt) = (self.subject, subjectObservedAt)
        let isLatest = former.map { (formerObservedAt ?? .distantPast, $0) < (time, subject) } ?? true
        if isLatest { self.subject = subject }
        subjectObservedAt = max(formerObservedAt ?? time, time)
        guard let former, former != subject else { return nil }
        takenOverAt = max(takenOverAt ?? time, time)
        otherUserObservedAt = [otherUserObservedAt, isLatest ? formerObservedAt : time].compactMap(\.self).max()
        let removed = aliases.flatMap { $0.observedAt <= time ? $0.value : nil }
        if removed != nil { aliases = nil }
        return isLatest || removed != nil ? Takeover(changesOwner: isLatest, removedAliases: removed) : nil
    }

    mutating func merge(_ profile: InstallationProfile, observedAt time: Timestamp, by subject: UTF8Text?) {
        guard !isLoggedOut(at: time) else { return }
        // Metadata describes the phone, whoever uses it.
        metadata.replace(with: profile.metadata, observedAt: time)
        if let otherUserObservedAt, time <= otherUserObservedAt { return }
        // The owner's own aliases may be older than the takeover, because a full state may arrive before them.
        if subject == nil, let takenOverAt, time < takenOverAt { return }
        aliases.replace(with: profile.aliases, observedAt: time)
    }

    /// Removes everything observed at or before the log-out. The installation then has no owner.
    mutating func logOut(at time: Timestamp) {
        times.loggedOutAt = max(times.loggedOutAt ?? time, time)
        times.fullStateAt = max(times.fullStateAt ?? time, time)
        if subjectObservedAt ?? .distantPast <= time { (subject, subjectObservedAt) = (nil, nil) }
        if let aliases, aliases.observedAt <= time { self.aliases = nil }
        if let metadata, metadata.observedAt <= time { self.metadata = nil }
    }

    var lastObservedAt: Timestamp? {
        [subjectObservedAt, aliases?.observedAt, metadata?.observedAt].compactMap(\.self).max()
    }
}
