/// The clock of observations (C15). Each time is later than the previous one, across launches too, and follows the registry's
/// clock.
///
/// It reads no clock itself: each method gets the device's time.
package struct ObservationClock: Sendable, Hashable, Codable {
    /// The registry's clock, less the device's.
    package private(set) var offset = Duration.zero
    package private(set) var isConfirmed = false
    /// The greatest time of an observation.
    package private(set) var latest = Timestamp.distantPast
    /// The greatest time that the registry has responded to.
    private var answered = Timestamp.distantPast
    /// Later times that were sent, in order. Each may have been accepted, or is refused because the clock was ahead.
    private var sent: [Timestamp] = []
    /// Later times that only one request had, in this launch: if that request did not leave the phone, the registry does not have them.
    private var triedOnce: Set<Timestamp> = []
    /// The device's clocks when they were last read.
    private var last: DeviceTime?

    private enum CodingKeys: CodingKey { case offset, isConfirmed, latest, answered, sent, last }

    /// Slow responses and the whole seconds of `Date` make no difference.
    static let tolerance = Duration.seconds(5)
    /// The registry refuses all that lies further ahead (R3), so nothing later was ever accepted.
    static let mostAhead = Duration.seconds(300)
    /// Equal to the limit of the outbox.
    private static let mostSent = Outbox.limit

    /// The greatest time that the registry may have accepted.
    var floor: Timestamp { max(answered, sent.last ?? .distantPast) }

    /// The time of an observation, later than all earlier ones.
    package mutating func observe(_ now: DeviceTime) -> Timestamp {
        latest = max(corrected(now), latest.next, floor.next)
        return latest
    }

    package func corrected(_ now: DeviceTime) -> Timestamp { now.wall + offset }

    /// Detects whether the wall clock was set since the last call: then it differs from the monotonic clock.
    ///
    /// A confirmed clock continues as if it had not been set. An unconfirmed one is trusted only now, so it was wrong for all that was
    /// not sent.
    ///
    /// - Returns: the shift for the times of reports that were not sent; nil if they stay.
    package mutating func notice(_ now: DeviceTime) -> Duration? {
        defer { last = now }
        // An empty name counts as another start of the device.
        guard let last, last.boot == now.boot, !now.boot.isEmpty else { return nil }
        let jump = (now.wall - last.wall) - (now.uptime - last.uptime)
        guard jump.magnitude > Self.tolerance else { return nil }
        guard isConfirmed else { return jump }
        offset -= jump
        return nil
    }

    /// Corrects the clock by a response of the registry.
    ///
    /// - Parameter elapsed: between the request and its response; the registry read its clock in between.
    /// - Returns: the shift for the times of reports that were not sent; nil if they stay.
    package mutating func correct(by serverTime: Timestamp, at now: DeviceTime, elapsed: Duration) -> Duration? {
        isConfirmed = true
        let latestAccepted = serverTime + Self.mostAhead
        sent.removeAll { $0 > latestAccepted }
        answered = min(answered, latestAccepted)
        let ours = corrected(now)
        let (earliest, last) = (ours + (.zero - elapsed - Self.tolerance), ours + Self.tolerance)
        guard serverTime < earliest || serverTime > last else {
            // The clock was right again before the first response, and earlier times lie in the future.
            return latest > ours + Self.tolerance ? .zero : nil
        }
        let shift = serverTime - ours
        offset += shift
        return shift
    }

    /// A report with this time is sent: later observations must have later times, even if the clock is corrected.
    package mutating func sends(_ time: Timestamp) {
        if time > answered, !sent.contains(time) {
            triedOnce.insert(time)
            sent = (sent + [time]).sorted().suffix(Self.mostSent)
        } else {
            triedOnce.remove(time)
        }
    }

    /// A request with this time did not leave the phone.
    ///
    /// - Returns: whether the registry cannot have accepted the time, because no other request had it.
    package mutating func didNotSend(_ time: Timestamp) -> Bool {
        guard triedOnce.remove(time) != nil else { return false }
        sent.removeAll { $0 == time }
        return true
    }

    /// The registry accepted a report with this time, or refused it for a reason other than its time.
    package mutating func wasAnswered(_ time: Timestamp) {
        answered = max(answered, time)
        sent.removeAll { $0 <= answered }
    }

    /// Reports that were not sent were moved to times up to this one.
    package mutating func moved(latest: Timestamp?) { self.latest = max(floor, latest ?? floor) }
}
