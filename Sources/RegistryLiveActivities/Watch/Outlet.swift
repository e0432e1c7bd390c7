import RegistryClient

/// Where the watch tells what it saw: the client, which need not be there any more.
package struct Outlet: Sendable {
    package let report: @Sendable (Report, DeviceTime) -> Void
    /// All that waits is tried now.
    package let tryAgain: @Sendable () -> Void
    /// All that waits is given to the system, which sends it while the app sleeps.
    package let handOver: @Sendable () async -> Void

    package init(
        report: @escaping @Sendable (Report, DeviceTime) -> Void,
        tryAgain: @escaping @Sendable () -> Void,
        handOver: @escaping @Sendable () async -> Void
    ) { (self.report, self.tryAgain, self.handOver) = (report, tryAgain, handOver) }

    init(_ registry: LiveActivityRegistry) {
        self.init(
            report: { [weak registry] in registry?.report($0, at: $1) },
            tryAgain: { [weak registry] in registry?.comesToForeground() },
            handOver: { [weak registry] in await registry?.handOver() }
        )
    }
}
