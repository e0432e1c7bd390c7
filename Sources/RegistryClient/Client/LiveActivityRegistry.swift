import Foundation

/// The client of a push token registry: it tells the registry what happens on this phone, and goes on until it is answered.
///
/// Make one at launch, and keep it.
///
/// ```swift
/// let registry = LiveActivityRegistry(service: URL(string: "https://push.example.com")!, key: "prc_…")
/// registry.start()
/// registry.signIn(userID: "u-7") { await session.jwt() }
/// registry.register(deviceToken: deviceToken)
/// let isConfirmed = await registry.signOut()
/// ```
///
/// All methods but ``signOut()`` return at once. What they are told is kept in a file until the registry answers, over launches.
public actor LiveActivityRegistry {
    /// The settings that it was made with.
    package nonisolated let configuration: Configuration
    nonisolated let commands: AsyncStream<Command>.Continuation
    nonisolated let eventStreams = EventStreams()
    nonisolated let shownStatus: Guarded<RegistryStatus>
    /// The layer over ActivityKit.
    package nonisolated let attachment = Guarded(Attachment())

    let environment: APNSEnvironment
    var isStarted = false
    var installationID: InstallationID?
    var clock = ObservationClock()
    var outbox = Outbox()
    var user: UTF8Text?
    var userChanged = false
    var sources: [UTF8Text: CredentialSource] = [:]
    /// Those that a sign-in repeats.
    var tokenReports: [Report] = []
    var stored = Stored()
    /// Commands that came before the file could be read.
    var held: [Command] = []
    /// The entries that the system has been given.
    var handedOver: [UInt64] = []
    var credentialRetry: Task<Void, Never>?
    var alarm: Alarm?
    var toldWaiting: RegistryEvent?

    /// Makes a client for the running app.
    public init(service: URL, key: String) { self.init(Configuration(service: service, key: key)) }

    /// Makes a client with settings of one's own.
    public init(_ configuration: Configuration) {
        self.configuration = configuration
        environment = APNSEnvironment.ofThisApp(said: configuration.environment)
        shownStatus = Guarded(RegistryStatus(environment: environment))
        let (stream, commands) = AsyncStream.makeStream(of: Command.self)
        self.commands = commands
        Task { [weak self] in
            for await command in stream { await self?.take(command) }
        }
    }

    deinit { commands.finish() }
}

extension LiveActivityRegistry {
    /// Begins to send. It waits for no network, file or user (C1); call it at launch, in the initialiser of the `App` or in
    /// `application(_:didFinishLaunchingWithOptions:)`, for iOS also launches the app in the background to hand it a token.
    public nonisolated func start() {
        happens {
            $0.isStarted = true
            $0.load()
        }
        let watch = attachment.withLock { attachment in
            attachment.isStarted = true
            return attachment.watch
        }
        watch?.start()
    }

    /// Somebody signed in. Call it at each launch while they are: what is observed meanwhile waits for their JWT.
    ///
    /// The user before, if it is another one, is signed out first.
    ///
    /// - Parameters:
    ///   - userID: the `sub` of their JWT.
    ///   - credential: gives a JWT that is valid now, or nil; asked before each request, and again after a refusal. It has to return
    ///     within seconds: reports wait for it, also those of a user who signs in afterwards.
    public nonisolated func signIn(userID: String, credential: @escaping CredentialSource) {
        let (now, running) = (configuration.clock.now(), runningActivities())
        commands.yield(Command(waitsForFile: true) { $0.signIn(UTF8Text(userID), credential, ending: running, now) })
    }

    /// The user signs out: their reports but ends are dropped, the installation's tokens and names go, and its activities end.
    ///
    /// It goes on trying afterwards, and after a relaunch too.
    ///
    /// - Returns: true once the registry has confirmed it, false when it has not within 5 seconds.
    @discardableResult
    public nonisolated func signOut() async -> Bool {
        let (now, running) = (configuration.clock.now(), runningActivities())
        let events = events
        commands.yield(Command(waitsForFile: true) { $0.logOut(ending: running, now) })
        return await withTaskGroup(of: Bool.self) { group in
            group.addTask { await events.compactMap(\.isConfirmedLogOut).first { _ in true } ?? false }
            group.addTask { [clock = configuration.clock] in
                await clock.sleep(until: now.uptime + .seconds(5))
                return false
            }
            defer { group.cancelAll() }
            return await group.next() ?? false
        }
    }

    /// The token of ordinary notifications, as `didRegisterForRemoteNotificationsWithDeviceToken` has it.
    public nonisolated func register(deviceToken: Data) {
        report(.installationToken(.device, Token(deviceToken)))
    }

    /// The token of the app's widgets, as `WidgetPushHandler` is told of it (iOS 26); nil once no widget is left.
    public nonisolated func register(widgetToken: Data?) {
        report(.installationToken(.widget, widgetToken.map { Token($0) }))
    }

    /// A stream of all that happens from now on. Each call gives a stream of its own.
    public nonisolated var events: AsyncStream<RegistryEvent> { eventStreams.stream() }

    /// The state now.
    public nonisolated var status: RegistryStatus { shownStatus.withLock { $0 } }
}

// MARK: - For the layer over ActivityKit

extension LiveActivityRegistry {
    /// Something was observed now, or at a time that was taken before.
    package nonisolated func report(_ report: Report, at time: DeviceTime? = nil) {
        let time = time ?? configuration.clock.now()
        commands.yield(Command(waitsForFile: true, report: report) { $0.add(report, time) })
    }

    /// The app came to the foreground, the network came back, or the phone was unlocked: all is tried now.
    package nonisolated func comesToForeground() {
        happens {
            $0.outbox.comesToForeground()
            $0.stored.isBehind = true
            $0.takeBack()
        }
    }

    /// Returns when all that was told before was taken.
    package nonisolated func caughtUp() async {
        await withCheckedContinuation { continuation in happens { _ in continuation.resume() } }
    }
}
