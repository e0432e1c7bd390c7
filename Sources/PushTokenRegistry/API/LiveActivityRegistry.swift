import Foundation

/// Keeps a push token registry informed of the Live Activities on this phone.
///
/// Create one client at launch, in the app and not in an extension, and keep it.
///
/// ```swift
/// let registry = LiveActivityRegistry(service: URL(string: "https://push.example.com")!, key: "prc_…")
/// registry.follow(DeliveryAttributes.self, id: \.orderID)
/// registry.activate()
/// registry.signIn(userID: "u-7") { try await session.jwt() }
/// ```
///
/// Calls that are not `async` return at once. A file keeps their reports until the registry responds, across launches.
public actor LiveActivityRegistry {
    package nonisolated let configuration: Configuration
    nonisolated let mutations: AsyncStream<Mutation>.Continuation
    nonisolated let eventStreams = EventStreams<Event>()
    nonisolated let statusStreams = EventStreams<Status>()
    nonisolated let registrations = RegistrationStates()
    nonisolated let publishedStatus: LockedValue<Status>
    /// Made once a type is followed.
    nonisolated let createdWatch = LockedValue<ActivityWatch?>(nil)
    nonisolated let isActive = LockedValue(false)

    /// The time at which the client was created: nothing is observed earlier.
    let created: DeviceTime
    /// By the monotonic clock; nil before `activate()`.
    var activatedAt: Duration?
    /// Nil until both the id and the file were readable.
    var installationID: String?
    /// The keychain's failure that was logged.
    var keychainStatus: Int32?
    var state = StoredState()
    /// The content of the file.
    var written: Data?
    /// Returns the user's JWTs, once the app has signed them in.
    var source: CredentialSource?
    /// A sign-in repeats these.
    var tokenReports: [Report] = []
    /// Mutations that need the file and came before it was readable.
    var deferred: [Mutation] = []
    /// The entries that the system has been given.
    var submitted: [UInt64] = []
    var alarm: (time: Duration, task: Task<Void, Never>)?

    package nonisolated var watch: ActivityWatch? { createdWatch.withLock { $0 } }

    /// Creates a client for the running app.
    ///
    /// - Parameters:
    ///   - service: the address of the registry, such as `https://push.example.com`.
    ///   - key: the app's publishable key, `prc_…`.
    public init(service: URL, key: String) { self.init(Configuration(service: service, key: key)) }

    /// Creates a client with settings of your own.
    public init(_ configuration: Configuration) {
        self.configuration = configuration
        created = configuration.clock.now()
        publishedStatus = LockedValue(Status(environment: configuration.reportedEnvironment))
        let (stream, mutations) = AsyncStream.makeStream(of: Mutation.self)
        self.mutations = mutations
        Task { [weak self] in
            for await mutation in stream { await self?.process(mutation) }
        }
    }

    deinit { mutations.finish() }

    /// The client that the keys `PushTokenRegistryURL` and `PushTokenRegistryKey` of the app's Info.plist describe; nil without
    /// them.
    ///
    /// It exists before any code of React Native or Flutter runs, so a plugin's native part can activate it at launch.
    public static let shared = Configuration(infoDictionary: Bundle.main.infoDictionary ?? [:])
        .map { LiveActivityRegistry($0) }

    /// Begins to observe and to send (C1).
    ///
    /// Call it at launch, in the initializer of the `App` or in `application(_:didFinishLaunchingWithOptions:)`: iOS also launches
    /// the app in the background to deliver a token. In previews and hosted tests it does nothing, unless
    /// ``Configuration/runsInTests`` is set.
    public nonisolated func activate() {
        guard !configuration.isSuppressed else {
            return configuration.log(.info, "inactive in a preview or a hosted test")
        }
        let uptime = configuration.clock.now().uptime
        enqueue {
            $0.activatedAt = $0.activatedAt ?? uptime
            $0.load()
        }
        isActive.withLock { $0 = true }
        let (watch, host) = (watch, configuration.service.host ?? "no host")
        let types = watch?.types.map(\.name).joined(separator: ", ") ?? "no type"
        configuration.log(.info, "active: \(host), \(status.environment.rawValue), follows \(types)")
        watch?.start()
    }

    /// Signs a user in. Call it at each launch while a user is signed in: their reports wait for a JWT.
    ///
    /// If another user was signed in, that user is signed out first.
    ///
    /// - Parameters:
    ///   - userID: the `sub` of the user's JWT.
    ///   - credential: returns a valid JWT, or nil without one. It is called before each request, for several at once, and
    ///     again after the registry refused a JWT. It has to return within 20 seconds, because reports wait for it.
    public nonisolated func signIn(userID: String, credential: @escaping CredentialSource) {
        let (now, running) = (configuration.clock.now(), watch?.runningActivities() ?? [])
        enqueueLoaded { $0.signIn(userID, credential, ending: running, now) }
    }

    /// Signs the user out: the registry deletes the installation's tokens and names and ends its activities.
    ///
    /// The activities of followed types are ended on the screen too, scheduled ones included, unless
    /// ``Configuration/endsActivitiesOnSignOut`` is false. The log-out is repeated until the registry confirms it, across launches.
    ///
    /// - Returns: true if the registry confirmed it within 5 seconds.
    @discardableResult
    public nonisolated func signOut() async -> Bool {
        guard !configuration.isSuppressed else { return false }
        let (now, running) = (configuration.clock.now(), watch?.runningActivities() ?? [])
        let events = events
        enqueueLoaded { $0.logOut(ending: running, now) }
        return await configuration.clock.result(within: .seconds(5)) {
            for await event in events {
                if case .registered(.logOut) = event { return true }
                if case .refused(.logOut, _, _, isKept: false) = event { return false }
            }
            return false
        } ?? false
    }

    /// Reports the device token that `didRegisterForRemoteNotificationsWithDeviceToken` delivered.
    public nonisolated func register(deviceToken: Data) { report(.installationToken(.device, PushToken(deviceToken))) }

    /// Sends all that waits now, for example in a background task.
    ///
    /// - Returns: true once nothing waits; false if something still does after the timeout.
    @discardableResult
    public nonisolated func flush(timeout: Duration = .seconds(10)) async -> Bool {
        retryNow()
        await drain()
        let statuses = statusStreams.stream()
        if status.waiting == 0 { return true }
        let isDone = await configuration.clock.result(within: timeout) { await statuses.contains { $0.waiting == 0 } }
        return isDone ?? false
    }

    /// A new stream of the events from now on, of which it buffers the latest 100.
    public nonisolated var events: AsyncStream<Event> { eventStreams.stream() }

    /// The current state of the client.
    public nonisolated var status: Status { publishedStatus.withLock { $0 } }

    /// The state of an activity's registration, beginning with the current one. The stream ends with the activity.
    ///
    /// - Parameter activityID: `Activity.id`.
    public nonisolated func registration(of activityID: String) -> AsyncStream<Registration> {
        registrations.stream(of: activityID)
    }
}
