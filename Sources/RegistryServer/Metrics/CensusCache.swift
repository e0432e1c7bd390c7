import RegistryCore
import RegistryStore

/// The last count of what there is in Postgres, so that frequent questions do not make it count each time.
actor CensusCache {
    private let registry: Registry
    private let lifetime: Duration
    private let clock: ServiceClock
    private var last: (census: Census?, time: Duration)?
    private var counting: Task<Census?, Never>?

    /// - Parameter lifetime: how long a count, or that there was none to be had, is believed.
    init(registry: Registry, lifetime: Duration, clock: ServiceClock) {
        self.registry = registry
        self.lifetime = lifetime
        self.clock = clock
    }

    /// The counts; nil when Postgres did not give them. Those who ask at once wait for the same count.
    func census() async -> Census? {
        if let last, clock.uptime() - last.time < lifetime { return last.census }
        if let counting { return await counting.value }
        let task = Task { [registry] in try? await registry.census() }
        counting = task
        let census = await task.value
        last = (census, clock.uptime())
        counting = nil
        return census
    }
}
