import Foundation

/// The clocks of the device, and the client's only way to wait.
package protocol ClientClock: Sendable {
    func now() -> DeviceTime
    /// Returns at a time of the monotonic clock, or when the task is cancelled.
    func sleep(until uptime: Duration) async
}

/// The clocks of this device.
package struct SystemClock: ClientClock {
    package func now() -> DeviceTime {
        DeviceTime(wall: Timestamp(Date()), uptime: Self.uptime, boot: Self.boot)
    }

    package func sleep(until uptime: Duration) async { try? await Task.sleep(for: uptime - Self.uptime) }

    /// Continues while the device sleeps, so that a night does not look like a jump of the wall clock.
    private static var uptime: Duration {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC_RAW, &time)
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

/// The device's clocks at one moment.
package struct DeviceTime: Sendable, Hashable, Codable {
    /// The wall clock, which users and the network may set.
    package let wall: Timestamp
    /// The time since the device was started, asleep or awake.
    package let uptime: Duration
    /// A name for this start of the device: uptimes of two starts do not compare.
    package let boot: String

    package init(wall: Timestamp, uptime: Duration, boot: String) {
        (self.wall, self.uptime, self.boot) = (wall, uptime, boot)
    }
}
