/// The clock that says when something was observed (C15): later each time, over launches too, and right by the registry's clock.
///
/// It asks no clock itself: every method is given the device's time.
package struct ObservationClock: Sendable, Hashable, Codable {
    /// The registry's clock, less the device's.
    package private(set) var offset = Duration.zero
    /// The registry said so, or agreed.
    package private(set) var isConfirmed = false
    /// The greatest time that was given.
    package private(set) var latest = Timestamp.distantPast
    /// The greatest time that the registry may have accepted.
    package private(set) var floor = Timestamp.distantPast
    /// The greatest time that it has answered to.
    private var answered = Timestamp.distantPast
    /// Times after it that went out, in their order: each may have been accepted, or is refused once the clock turns out to have been ahead.
    private var sent: [Timestamp] = []
    /// Times after it that one try alone had, in this launch: if that try did not leave the phone, the registry has none of them.
    private var triedOnce: Set<Timestamp> = []
    /// The device's clocks when they were last looked at.
    private var last: DeviceTime?

    private enum CodingKeys: CodingKey { case offset, isConfirmed, latest, floor, answered, sent, last }

    /// Slower answers and the whole seconds of `Date` are no difference.
    static let tolerance = Duration.seconds(5)
    /// The registry refuses all that lies further ahead (R3), so nothing later was ever accepted.
    static let mostAhead = Duration.seconds(300)
    /// As many as may wait.
    private static let mostSent = Outbox.limit

    package init() {}

    /// The time of an observation, later than all before.
    package mutating func observe(_ now: DeviceTime) -> Timestamp {
        latest = max(corrected(now), latest.next)
        return latest
    }

    /// The time by the registry's clock.
    package func corrected(_ now: DeviceTime) -> Timestamp { now.wall + offset }

    /// Looks whether the wall clock was set since the last look: then it went otherwise than the monotonic one.
    ///
    /// A clock that the registry confirmed goes on as if nobody had touched it. One that it never saw is believed only now, and so
    /// is wrong in all that was not sent.
    ///
    /// - Returns: by how much the times of reports that were not sent are to be moved; nil when they may stay.
    package mutating func notice(_ now: DeviceTime) -> Duration? {
        defer { last = now }
        // Without a name nobody knows whether it is the same start.
        guard let last, last.boot == now.boot, !now.boot.isEmpty else { return nil }
        let jump = (now.wall - last.wall) - (now.uptime - last.uptime)
        guard jump.magnitude > Self.tolerance else { return nil }
        guard isConfirmed else { return jump }
        offset -= jump
        return nil
    }

    /// An answer of the registry told its clock.
    ///
    /// - Parameter elapsed: between the request and its answer; the registry's clock was read at some time in between.
    /// - Returns: by how much the times of reports that were not sent are to be moved; nil when they may stay.
    package mutating func correct(by serverTime: Timestamp, at now: DeviceTime, elapsed: Duration) -> Duration? {
        isConfirmed = true
        let latestAccepted = serverTime + Self.mostAhead
        if floor > latestAccepted {
            sent = sent.filter { $0 <= latestAccepted }
            floor = max(min(answered, latestAccepted), sent.last ?? .distantPast)
        }
        let ours = corrected(now)
        let (earliest, last) = (ours + (.zero - elapsed - Self.tolerance), ours + Self.tolerance)
        guard serverTime < earliest || serverTime > last else {
            // The clock was right again before the registry was heard of, and times from before lie in the future.
            return latest > ours + Self.tolerance ? .zero : nil
        }
        let shift = serverTime - ours
        offset += shift
        return shift
    }

    /// A report with this time goes out: what is observed from now on must be later, whatever becomes of the clock.
    package mutating func sends(_ time: Timestamp) {
        if time > answered, !sent.contains(time) { triedOnce.insert(time) } else { triedOnce.remove(time) }
        floor = max(floor, time)
        keep([time])
    }

    /// A try with this time did not leave the phone.
    ///
    /// - Returns: whether the registry cannot have accepted the time, because no other try had it.
    package mutating func didNotSend(_ time: Timestamp) -> Bool {
        guard triedOnce.remove(time) != nil else { return false }
        sent.removeAll { $0 == time }
        if floor == time { floor = max(answered, sent.last ?? .distantPast) }
        return true
    }

    /// The registry has taken a report with this time, or refused it for another reason than its time.
    package mutating func wasAnswered(_ time: Timestamp) {
        answered = max(answered, time)
        keep([])
    }

    private mutating func keep(_ times: [Timestamp]) {
        sent = Set(sent + times).filter { $0 > answered }.sorted().suffix(Self.mostSent)
    }

    /// Reports that were not sent were moved; the last of them now has this time.
    package mutating func moved(latest: Timestamp?) { self.latest = max(floor, latest ?? floor) }

    /// Takes over what another process of this app learnt meanwhile.
    package mutating func adopt(_ stored: ObservationClock) {
        if stored.isConfirmed, !isConfirmed { (offset, isConfirmed) = (stored.offset, true) }
        floor = max(floor, stored.floor)
        answered = max(answered, stored.answered)
        latest = max(latest, stored.latest)
        keep(stored.sent)
        // The other process may have tried the same.
        triedOnce = []
    }
}
