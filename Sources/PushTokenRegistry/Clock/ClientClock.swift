import Foundation

/// The clocks of the device, and the client's only way to wait.
package protocol ClientClock: Sendable {
    func now() -> DeviceTime
    /// Returns at a time of the monotonic clock, or when the task is cancelled.
    func sleep(until uptime: Duration) async
}

extension ClientClock {
    /// Returns the result of `body`, or nil if it takes longer than `time`, even if it ignores its cancellation.
    func result<Value: Sendable>(within time: Duration, _ body: @escaping @Sendable () async -> Value) async -> Value? {
        let (results, continuation) = AsyncStream.makeStream(of: Value?.self)
        let end = now().uptime + time
        let working = Task { _ = continuation.yield(await body()) }
        let waiting = Task {
            await sleep(until: end)
            continuation.yield(nil)
        }
        defer { for task in [working, waiting] { task.cancel() } }
        return await results.first { _ in true } ?? nil
    }
}

package struct SystemClock: ClientClock {
    package func now() -> DeviceTime { DeviceTime(wall: Timestamp(Date()), uptime: Self.uptime, boot: Self.boot) }
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

/// A time in whole milliseconds, the precision of the registry's times.
package struct Timestamp: Sendable, Hashable, Comparable, Codable {
    /// Milliseconds since 1970 in UTC.
    package let milliseconds: Int64

    package init(milliseconds: Int64) { self.milliseconds = milliseconds }

    /// Rounds down, and clamps to the years 1970 to 9999.
    package init(_ date: Date) {
        let milliseconds = (date.timeIntervalSince1970 * 1000).rounded(.down)
        self.milliseconds = Int64(min(max(milliseconds, 0), 253_402_300_799_999))
    }

    package var date: Date { Date(timeIntervalSince1970: Double(milliseconds) / 1000) }
    package var next: Timestamp { Timestamp(milliseconds: milliseconds + 1) }

    package static let distantPast = Timestamp(milliseconds: 0)

    package static func < (left: Timestamp, right: Timestamp) -> Bool { left.milliseconds < right.milliseconds }

    package static func + (time: Timestamp, duration: Duration) -> Timestamp {
        Timestamp(milliseconds: time.milliseconds + duration.milliseconds)
    }

    package static func - (left: Timestamp, right: Timestamp) -> Duration {
        .milliseconds(left.milliseconds - right.milliseconds)
    }

    /// RFC 3339 in UTC with milliseconds, such as `2026-11-21T08:30:00.412Z`.
    ///
    /// Foundation would take the milliseconds from a floating-point number.
    package var text: String {
        let (seconds, rest) = milliseconds.quotientAndRemainder(dividingBy: 1000)
        let whole = Date(timeIntervalSince1970: Double(seconds)).formatted(.iso8601)
        return whole.dropLast() + String(format: ".%03dZ", Int(rest))
    }

    /// Reads RFC 3339 in UTC, as the registry writes it, with any number of digits of a second or none.
    package init?(text: String) {
        guard let match = text.wholeMatch(of: #/([-0-9]+T[:0-9]+)(?:\.(\d{1,9}))?Z/#),
            let whole = try? Date("\(match.1)Z", strategy: .iso8601)
        else { return nil }
        let fraction = match.2.map { "\($0)00".prefix(3) }.flatMap { Int64($0) } ?? 0
        self.init(milliseconds: Timestamp(whole).milliseconds + fraction)
    }

    /// Reads the `Date` of an HTTP answer, such as `Sat, 21 Nov 2026 08:30:00 GMT` (RFC 9110, section 5.6.7).
    package init?(httpDate text: String) {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(secondsFromGMT: 0)
        formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        guard let date = formatter.date(from: text) else { return nil }
        self.init(date)
    }
}

extension Duration {
    /// Whole milliseconds, rounded towards zero.
    package var milliseconds: Int64 { components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000 }
    package var magnitude: Duration { self < .zero ? .zero - self : self }
}
