import Foundation
import PushTokenRegistry
import PushTokenRegistryTestSupport

/// A phone with its owner. Its contents outlive the app's processes.
actor SimulatedPhone {
    nonisolated let service: SimulatedService
    nonisolated let network: SimulatedNetwork
    nonisolated let clock: TestClock
    /// Unique to this life, because lives share a service.
    nonisolated let name: String
    nonisolated let system: FakePhone
    nonisolated let types: [FakeType]
    nonisolated let storage: TestStorage
    nonisolated let installationIDs: TestInstallationIDStore

    private(set) var app: SimulatedApp?
    private(set) var isUnlocked = true
    private(set) var user: String?
    private(set) var deviceToken: String?
    /// The app's session, which gives a valid JWT, an expired one, or none.
    nonisolated let session = LockedValue(Session.valid)
    /// A sign-out has begun, and the client may not have it yet.
    private(set) var isSigningOut = false

    /// The client's file has another user than the app, because the app died before the sign-in was written. The next
    /// launch signs the former user out and ends the running activities.
    var isChangingUser: Bool {
        guard let user, let known = storage.bytes.flatMap(StoredState.init)?.user else { return false }
        return known != user
    }

    enum Session: Sendable { case valid, expired, none }

    /// A phone restored from another phone's backup is a new phone: reports are in no backup, and the keychain entry
    /// belongs to one device. The app's own data is restored.
    ///
    /// - Parameter user: the signed-in user in the backup.
    init(_ name: String, _ service: SimulatedService, clock: TestClock, network: SimulatedNetwork, user: String? = nil)
    {
        (self.name, self.service, self.clock, self.network) = (name, service, clock, network)
        (system, storage, installationIDs) = (FakePhone(), TestStorage(nil), TestInstallationIDStore())
        types = [FakeType("Delivery"), FakeType("Match")]
        self.user = user
    }

    func launch() async {
        guard app == nil else { return }
        let app = SimulatedApp(on: self)
        self.app = app
        app.registry.activate()
        await appBegins(app)
    }

    /// The app's code at launch. Before the first unlock it cannot read its own data.
    private func appBegins(_ app: SimulatedApp) async {
        guard isUnlocked else { return }
        if isSigningOut { await signOut(of: app) }
        if let user { app.registry.signIn(userID: user, credential: credential(of: user)) }
        if let deviceToken { app.registry.register(deviceToken: Data(deviceToken.utf8)) }
    }

    private nonisolated func credential(of user: String) -> CredentialSource {
        { [session] in
            switch session.withLock({ $0 }) {
            case .valid: SimulatedService.token(of: user)
            case .expired: SimulatedService.token(of: user, isExpired: true)
            case .none: nil
            }
        }
    }

    func killApp() {
        app?.end.comes()
        bury()
    }

    func bury() {
        if app?.isAlive == false { app = nil }
        guard app == nil else { return }
        for type in types { type.appDies() }
        system.appDies()
    }

    /// Restarts the phone. Nothing is readable before the first unlock.
    func restart(boot: String) {
        app?.end.comes()
        bury()
        isUnlocked = false
        storage.lock()
        installationIDs.lock()
        system.lock()
        clock.restart(boot: boot)
    }

    func unlock() async {
        guard !isUnlocked else { return }
        isUnlocked = true
        storage.unlock()
        installationIDs.unlock()
        system.unlock()
        if let app { await appBegins(app) }
    }

    func signIn(_ user: String) {
        guard let app, isUnlocked else { return }
        self.user = user
        isSigningOut = false
        app.registry.signIn(userID: user, credential: credential(of: user))
    }

    func signOut() async {
        guard let app, isUnlocked else { return }
        (user, isSigningOut) = (nil, true)
        await signOut(of: app)
    }

    /// Returns once the sign-out waits for its response, which takes up to five seconds. An app that dies repeats it.
    private func signOut(of app: SimulatedApp) async {
        let waits = LockedValue(false)
        Task {
            await ProcessClock.$willWait.withValue({ waits.withLock { $0 = true } }) { await app.registry.signOut() }
            if app.isAlive { isSigningOut = false }
        }
        while !waits.withLock({ $0 }) { await Task.yield() }
    }

    func setDeviceToken(_ deviceToken: String) {
        self.deviceToken = deviceToken
        if isUnlocked { app?.registry.register(deviceToken: Data(deviceToken.utf8)) }
    }

    /// Returns once nothing more happens without a change of clock, network or user.
    func rest() async {
        var looks = 0
        while looks < 3 {
            for _ in 0..<25 { await Task.yield() }
            await network.rests()
            let stuck = network.stuck
            let isResting = await isResting(with: stuck)
            looks = isResting && stuck == network.stuck ? looks + 1 : 0
        }
        bury()
    }

    private func isResting(with stuck: Int) async -> Bool {
        guard let app, app.isAlive else { return true }
        let unhandled = types.reduce(system.unhandled) { $0 + $1.unhandled }
        guard unhandled + clock.woken == 0 else { return false }
        return await app.isResting(with: stuck, on: system)
    }
}
