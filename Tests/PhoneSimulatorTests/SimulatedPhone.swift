import Foundation
import PushTokenRegistry
import PushTokenRegistryTestSupport

/// A phone in its owner's hand: what is on it outlives the app's processes.
actor SimulatedPhone {
    nonisolated let service: SimulatedService
    nonisolated let network: SimulatedNetwork
    nonisolated let clock: TestClock
    /// Names of this life, so that lives may share a service.
    nonisolated let name: String
    nonisolated let system: FakePhone
    nonisolated let types: [FakeType]
    nonisolated let storage: TestStorage
    nonisolated let installationIDs: TestInstallationIDStore

    private(set) var app: SimulatedApp?
    private(set) var isUnlocked = true
    /// The user who is signed in, as the app itself remembers it.
    private(set) var user: String?
    private(set) var deviceToken: String?
    /// Whether the app's own session gives a JWT now, and a valid one.
    nonisolated let session = LockedValue(Session.valid)
    /// The app has begun to sign its user out, and does not know yet that the client has taken it.
    private(set) var isSigningOut = false

    /// The client's file has another user than the app: the app died before the sign-in was written. At its next launch the one
    /// before is signed out, and what runs by then is ended.
    var isChangingUser: Bool {
        guard let user, let known = storage.bytes.flatMap(StoredState.init)?.user else { return false }
        return known != user
    }

    enum Session: Sendable { case valid, expired, none }

    /// A phone that got a backup of another one is a new one too: reports are in no backup, and the keychain's entry is of one
    /// device only. What the app itself remembers comes along.
    ///
    /// - Parameter user: who is signed in, by the backup.
    init(_ name: String, _ service: SimulatedService, clock: TestClock, network: SimulatedNetwork, user: String? = nil)
    {
        (self.name, self.service, self.clock, self.network) = (name, service, clock, network)
        (system, storage, installationIDs) = (FakePhone(), TestStorage(nil), TestInstallationIDStore())
        types = [FakeType("Delivery"), FakeType("Match")]
        self.user = user
    }

    func launch() {
        guard app == nil else { return }
        let app = SimulatedApp(on: self)
        self.app = app
        app.registry.activate()
        appBegins(app)
    }

    /// The app's own code at launch; nothing of its own can be read before the first unlock.
    private func appBegins(_ app: SimulatedApp) {
        guard isUnlocked else { return }
        if isSigningOut { signOut(of: app) }
        if let user { app.registry.signIn(userID: user, credential: credential(of: user)) }
        if let deviceToken { app.registry.register(deviceToken: Data(deviceToken.utf8)) }
    }

    private nonisolated func credential(of user: String) -> CredentialSource {
        { [session] in
            switch session.withLock({ $0 }) {
            case .valid: Issuer.shared.token(of: user)
            case .expired: Issuer.shared.token(of: user, isExpired: true)
            case .none: nil
            }
        }
    }

    func killApp() {
        app?.end.comes()
        bury()
    }

    /// Lets go of processes that have died.
    func bury() {
        if app?.isAlive == false { app = nil }
        guard app == nil else { return }
        for type in types { type.appDies() }
        system.appDies()
    }
}

// MARK: - The owner and the system

extension SimulatedPhone {
    /// The phone is started anew: until its first unlock nothing can be read.
    func restarts(boot: String) {
        app?.end.comes()
        bury()
        isUnlocked = false
        storage.lock()
        installationIDs.lock()
        system.lock()
        clock.restarts(boot: boot)
    }

    func unlock() {
        guard !isUnlocked else { return }
        isUnlocked = true
        storage.unlock()
        installationIDs.unlock()
        system.unlock()
        if let app { appBegins(app) }
    }

    func signIn(_ user: String) {
        guard let app, isUnlocked else { return }
        self.user = user
        isSigningOut = false
        app.registry.signIn(userID: user, credential: credential(of: user))
    }

    func signOut() {
        guard let app, isUnlocked else { return }
        user = nil
        isSigningOut = true
        signOut(of: app)
    }

    /// It may take five seconds of the phone's time. An app that dies meanwhile does it once more.
    private func signOut(of app: SimulatedApp) {
        Task {
            await app.registry.signOut()
            if app.isAlive { isSigningOut = false }
        }
    }

    func gets(deviceToken: String) {
        self.deviceToken = deviceToken
        if isUnlocked { app?.registry.register(deviceToken: Data(deviceToken.utf8)) }
    }

    /// Nothing happens any more until the clock goes on, the network changes, or somebody does something.
    func rest() async {
        var looks = 0
        while looks < 3 {
            for _ in 0..<25 { await Task.yield() }
            await network.rests()
            let stuck = network.stuck
            let isResting = await restsAll(with: stuck)
            looks = isResting && stuck == network.stuck ? looks + 1 : 0
        }
        bury()
    }

    private func restsAll(with stuck: Int) async -> Bool {
        for process in [app].compactMap(\.self) where process.isAlive {
            guard await process.isResting(with: stuck) else { return false }
        }
        return true
    }
}
