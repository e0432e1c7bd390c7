import Foundation
import RegistryCore
import RegistryStore

extension PushToken {
    package static func sample(_ number: Int) -> PushToken {
        PushToken(
            bytes: withUnsafeBytes(of: UInt64(number).bigEndian) { Array($0) } + [UInt8](repeating: 0xAB, count: 72)
        )
    }
}

extension InstallationHash {
    /// A distinct hash for each number below 65,536. Its first half repeats the low byte of the number, and its second
    /// half repeats the low byte XOR the high byte.
    package static func sample(_ number: Int) -> InstallationHash {
        InstallationHash(bytes: (0..<32).map { UInt8(truncatingIfNeeded: $0 < 16 ? number : number ^ number >> 8) })
    }
}

extension ActivityID {
    /// An invalid text stops the test.
    package static func sample(_ text: String) -> ActivityID { try! ActivityID(text) }
}

extension Alias {
    /// An invalid kind or value stops the test.
    package static func sample(_ kind: String, _ value: String) -> Alias { try! Alias(kind: kind, value: value) }
}

extension ActivityRegistration {
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
    /// Rounded to whole milliseconds.
    package static func minutesAgo(_ minutes: Double) -> Date {
        let milliseconds = (Date.timeIntervalSinceReferenceDate * 1000).rounded()
        return Date(timeIntervalSinceReferenceDate: milliseconds / 1000 - minutes * 60)
    }
}

extension Registry {
    package func registerSample(_ id: String, token: Int, minutesAgo minutes: Double? = nil, in scope: Scope)
        async throws
    {
        let registration = ActivityRegistration.sample(token: .sample(token), observedAt: minutes.map(Date.minutesAgo))
        _ = try await register(registration, as: .sample(id), in: scope, by: "test")
    }

    /// Creates a key of an app; nil creates a key of all apps.
    package func makeKey(
        _ role: Role,
        name: String? = nil,
        of app: App?,
        expiresAt: Date? = nil
    ) async throws -> APIKey {
        let (key, request) = (APIKey(random: role), APIKeyRequest(role: role, name: name, expiresAt: expiresAt))
        _ = try await createKey(key.id, digest: key.secretDigest, request, of: app, by: "test")
        return key
    }
}
