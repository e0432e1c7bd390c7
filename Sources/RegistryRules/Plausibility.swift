import RegistryCore

/// The permitted times of requests (R5). A request with an implausible time changes nothing.
package enum Plausibility {
    /// 2022-09-01T00:00:00Z, the month of iOS 16.1's first Live Activities.
    package static let earliest = Timestamp(microseconds: 715_305_600_000_000)
    package static let tolerance = Duration.seconds(300)
    package static let longestSchedule = Duration.seconds(30 * 86_400)

    /// - Parameter times: times by JSON pointer.
    /// - Throws: ``Rejection/clockSkew(_:)``.
    package static func check(
        _ times: [(pointer: String, time: Timestamp?)],
        startsAt: Timestamp? = nil,
        receivedAt now: Timestamp
    ) throws(Rejection) {
        var faults = times.compactMap { fault($0.pointer, $0.time, now + tolerance, "5 minutes") }
        faults += [fault("/startsAt", startsAt, now + longestSchedule, "30 days")].compactMap(\.self)
        guard faults.isEmpty else { throw .clockSkew(faults) }
    }

    private static func fault(
        _ pointer: String,
        _ time: Timestamp?,
        _ latest: Timestamp,
        _ tolerance: String
    ) -> JSONFault? {
        guard let time else { return nil }
        if time < earliest {
            return JSONFault(pointer: pointer, detail: "is before 2022-09-01, when no Live Activity existed")
        }
        return time > latest ? JSONFault(pointer: pointer, detail: "is more than \(tolerance) in the future") : nil
    }
}
