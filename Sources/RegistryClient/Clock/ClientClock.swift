import Foundation

/// The clocks of the device, and the only way in which the client waits. Tests have one that they move.
package protocol ClientClock: Sendable {
    func now() -> DeviceTime
    /// Returns at a time of the monotonic clock, or when the task is cancelled.
    func sleep(until uptime: Duration) async
}

/// The clocks of this device.
package struct SystemClock: ClientClock {
    package init() {}

    package func now() -> DeviceTime {
        DeviceTime(wall: Timestamp(Date()), uptime: Self.uptime, boot: Self.boot)
    }

    package func sleep(until uptime: Duration) async { try? await Task.sleep(for: uptime - Self.uptime) }

    /// Goes on while the device sleeps, so that a night is no jump of the wall clock.
    private static var uptime: Duration {
        var time = timespec()
        #if canImport(Darwin)
            clock_gettime(CLOCK_MONOTONIC_RAW, &time)
        #else
            clock_gettime(CLOCK_BOOTTIME, &time)
        #endif
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }

    /// The kernel's name for this start of the device.
    private static let boot: String = {
        #if canImport(Darwin)
            var length = 0
            sysctlbyname("kern.bootsessionuuid", nil, &length, nil, 0)
            var text = [UInt8](repeating: 0, count: length)
            sysctlbyname("kern.bootsessionuuid", &text, &length, nil, 0)
            return String(decoding: text.prefix { $0 != 0 }, as: UTF8.self)
        #else
            return (try? String(contentsOfFile: "/proc/sys/kernel/random/boot_id", encoding: .utf8)) ?? ""
        #endif
    }()
}
