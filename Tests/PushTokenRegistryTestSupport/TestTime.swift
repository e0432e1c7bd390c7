import PushTokenRegistry

extension Timestamp {
    /// A time in seconds after the tests' common beginning.
    package static func at(_ seconds: Double) -> Timestamp {
        Timestamp(milliseconds: 1_790_000_000_000 + Int64(seconds * 1000))
    }
}

extension DeviceTime {
    /// A device with a clock that is ahead by some seconds.
    package static func at(_ seconds: Double, ahead: Double = 0, boot: String = "boot-1") -> DeviceTime {
        DeviceTime(wall: .at(seconds + ahead), uptime: .seconds(1000 + seconds), boot: boot)
    }
}
