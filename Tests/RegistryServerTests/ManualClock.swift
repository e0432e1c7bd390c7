import Foundation
import Synchronization

@testable import RegistryServer

final class ManualClock: Sendable {
    private let passed = Mutex(Duration.zero)
    private let start: Date

    init() { start = Date(timeIntervalSinceReferenceDate: Date().timeIntervalSinceReferenceDate.rounded()) }
    func advance(by duration: Duration) { passed.withLock { $0 += duration } }
    var now: Date { start.addingTimeInterval(passed.withLock { $0 } / .seconds(1)) }
    var clock: ServiceClock { ServiceClock(date: { self.now }, uptime: { self.passed.withLock { $0 } }) }
}
