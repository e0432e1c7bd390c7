import RegistryClient

/// Where the watch tells what it saw: the client, which need not be there any more.
package struct Outlet: Sendable {
    package let report: @Sendable (Report, DeviceTime) -> Void
    /// All that waits is tried now.
    package let tryAgain: @Sendable () -> Void

    package init(
        report: @escaping @Sendable (Report, DeviceTime) -> Void,
        tryAgain: @escaping @Sendable () -> Void
    ) { (self.report, self.tryAgain) = (report, tryAgain) }

    init(_ registry: LiveActivityRegistry) {
        self.init(
            report: { [weak registry] in registry?.report($0, at: $1) },
            tryAgain: { [weak registry] in registry?.comesToForeground() }
        )
    }
}
