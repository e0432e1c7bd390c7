/// A call of `signOut()` that has not returned.
struct PendingSignOut {
    let continuation: CheckedContinuation<Bool, Never>
    /// By the monotonic clock.
    let deadline: Duration
    var isConfirmed: Bool?

    private static let timeout = Duration.seconds(5)

    init(_ continuation: CheckedContinuation<Bool, Never>, from uptime: Duration) {
        self.continuation = continuation
        deadline = uptime + Self.timeout
    }
}

extension LiveActivityRegistry {
    func signIn(_ user: UTF8Text, _ source: @escaping CredentialSource, _ time: DeviceTime) {
        if self.user != nil, self.user != user { logOut(time) }
        self.user = user
        userChanged = true
        sources[user] = source
        add(.installation(aliases: ["userId": [user.string]]), time)
        for kind in InstallationTokenKind.allCases {
            if let token = installationTokens[kind] { add(.installationToken(kind, token), time) }
        }
        for (attributesType, token) in startTokens.sorted(by: {
            $0.key.string.utf8.lexicographicallyPrecedes($1.key.string.utf8)
        }) {
            add(.startToken(attributesType: attributesType, token), time)
        }
        outbox.credentialCame(for: .user(user))
    }

    func logOut(_ time: DeviceTime) {
        add(.logOut, time)
        user = nil
        userChanged = true
    }

    /// The registry's word on a log-out is that on all that wait for one.
    func noteLogOut(_ event: RegistryEvent) {
        switch event {
        case .registered(.logOut): for index in signOuts.indices { signOuts[index].isConfirmed = true }
        case .refused(.logOut, _, _, isKept: false):
            for index in signOuts.indices { signOuts[index].isConfirmed = false }
        default: break
        }
    }

    /// Lets those return whose log-out was answered, or who waited long enough (C18).
    func finishSignOuts() {
        let now = configuration.clock.now().uptime
        for pending in signOuts where pending.isConfirmed != nil || pending.deadline <= now {
            pending.continuation.resume(returning: pending.isConfirmed ?? false)
        }
        signOuts.removeAll { $0.isConfirmed != nil || $0.deadline <= now }
    }
}

// MARK: - Credentials

extension LiveActivityRegistry {
    /// How long to wait before a source that had no credential is asked again.
    private static let credentialPause = Duration.seconds(30)

    func credentialIsMissing(_ entry: OutboxEntry) {
        outbox.credentialIsMissing(for: entry.id, of: entry.owner)
        guard case .user(let user) = entry.owner, sources[user] != nil else { return }
        credentialRetry = configuration.clock.now().uptime + Self.credentialPause
    }

    /// A credential was refused: the source may have another one by now.
    func renewCredential(of owner: Owner, _ delivery: Delivery) {
        guard case .user(let user) = owner, delivery.authority == owner, let source = sources[user] else { return }
        if owner != self.owner {
            // The last JWT of one who signed out is no longer valid: what is left goes out in the installation's name.
            sources[user] = nil
            outbox.credentialCame(for: owner)
            return
        }
        Task { [commands] in
            let credential = await source()
            commands.yield(.credentialCame(owner, credential == delivery.credential ? nil : credential))
        }
    }

    func credentialCame(_ owner: Owner, _ credential: String?) {
        if credential != nil { outbox.credentialWasRenewed(for: owner) }
    }

    /// Those who signed out are asked for their JWT as long as something of theirs waits, and no longer.
    func forgetSources() {
        let waiting = Set(outbox.entries.map(\.owner))
        sources = sources.filter { $0.key == user || waiting.contains(.user($0.key)) }
    }
}
