import Foundation
import RegistryCore

extension PushToken {
    /// A made-up token: the number, and nothing that was ever anyone's.
    package static func sample(_ number: Int) -> PushToken {
        PushToken(
            bytes: withUnsafeBytes(of: UInt64(number).bigEndian) { Array($0) } + [UInt8](repeating: 0xAB, count: 72)
        )
    }
}

extension InstallationHash {
    /// A made-up hash, of each number below 65,536 another: 32 times the number's lowest byte, the second half changed by the next.
    package static func sample(_ number: Int) -> InstallationHash {
        InstallationHash(bytes: (0..<32).map { UInt8(truncatingIfNeeded: $0 < 16 ? number : number ^ number >> 8) })
    }
}

extension ActivityID {
    /// The id of a text; a text that is not allowed stops the test.
    package static func sample(_ text: String) -> ActivityID { try! ActivityID(text) }
}

extension Alias {
    /// The alias of a kind and a value; one that is not allowed stops the test.
    package static func sample(_ kind: String, _ value: String) -> Alias { try! Alias(kind: kind, value: value) }
}

extension ActivityRegistration {
    /// A registration in which all but the token has a default.
    package static func sample(
        token: PushToken?,
        observedAt: Date? = nil,
        startedAt: Date? = nil,
        startsAt: Date? = nil,
        installation: InstallationHash? = nil,
        aliases: [Alias]? = nil,
        attributesType: String? = nil
    ) -> ActivityRegistration {
        var registration = ActivityRegistration(token: token)
        registration.observedAt = observedAt
        registration.startedAt = startedAt
        registration.startsAt = startsAt
        registration.installation = installation
        registration.aliases = aliases.map { try! AliasSet($0) }
        registration.facts.attributesType = attributesType.map { try! AttributesType($0) }
        return registration
    }
}

extension Date {
    /// Some minutes ago, in whole milliseconds.
    package static func minutesAgo(_ minutes: Double) -> Date {
        Date(
            timeIntervalSinceReferenceDate: (Date().timeIntervalSinceReferenceDate * 1000).rounded() / 1000 - minutes
                * 60
        )
    }
}
