/// The device's clocks at one moment.
package struct DeviceTime: Sendable, Hashable, Codable {
    /// The time of day as the device has it. Users and the network may set it.
    package let wall: Timestamp
    /// Time since the device was started, asleep or awake. Nobody can set it.
    package let uptime: Duration
    /// A name for this start of the device: uptimes of two starts do not compare.
    package let boot: String

    package init(wall: Timestamp, uptime: Duration, boot: String) {
        (self.wall, self.uptime, self.boot) = (wall, uptime, boot)
    }
}
