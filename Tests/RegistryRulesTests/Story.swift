import RegistryCore
import RegistryRules

/// Applies requests to the rows of one scope. Times are minutes, and requests arrive at minute 60.
struct Story {
    static let start = Timestamp(microseconds: 800_000_000_000_000)
    static func minute(_ minute: Int) -> Timestamp { start + .seconds(60 * minute) }

    var rows: LockedRows

    init(
        now: Int = 60,
        activities: [Activity] = [],
        values: [TokenValue] = [],
        times: [InstallationHash: InstallationTimes] = [:],
        installations: InstallationRows = InstallationRows(),
        locked: Set<ActivityID> = ["a", "b"]
    ) {
        rows = LockedRows(
            now: Self.minute(now),
            hasErasures: false,
            settings: AppSettings(),
            lockedOwners: locked,
            activities: activities,
            values: values,
            times: times,
            installations: installations
        )
    }

    /// This story at a later minute, starting from the written rows.
    func later(
        _ now: Int,
        values change: (inout TokenValue) -> Void = { _ in },
        times: [InstallationHash: InstallationTimes] = [:],
        erasedAt: Timestamp? = nil,
        locked: Set<ActivityID> = ["a", "b"]
    ) -> Story {
        let values = rows.values.values.map { row in
            var value = row.value
            change(&value)
            return value
        }
        return Story(
            now: now,
            activities: rows.activities.values.map(\.value),
            values: values,
            times: times,
            installations: InstallationRows(
                installations: rows.installations.installations.values.map(\.value),
                slots: rows.installations.slots.values.map(\.value),
                erasedAt: erasedAt
            ),
            locked: locked
        )
    }

    @discardableResult
    mutating func register(
        _ id: ActivityID = "a",
        token: UInt8? = 1,
        at observedAt: Int? = nil,
        startedAt: Int? = nil,
        startsAt: Int? = nil,
        installation: InstallationHash? = nil,
        aliases: AliasSet? = nil,
        claimant: Claimant = .any,
        erasedAt: Int = -1,
        _ change: (inout ActivityRegistration) -> Void = { _ in }
    ) throws(Rejection) -> RegistrationOutcome {
        var body = ActivityRegistration(token: token.map { PushToken(bytes: [$0]) })
        body.observedAt = observedAt.map { Self.minute($0).date }
        body.startedAt = startedAt.map { Self.minute($0).date }
        body.startsAt = startsAt.map { Self.minute($0).date }
        body.installation = installation
        body.aliases = aliases
        change(&body)
        let registration = Registration(
            body,
            of: id,
            digest: token.map(TokenDigest.init),
            claimant: claimant,
            actor: "tester"
        )
        return try rows.register(registration) { $0 <= Self.minute(erasedAt) }
    }

    @discardableResult
    mutating func end(
        _ id: ActivityID = "a",
        reason: EndReason = .ended,
        at observedAt: Int? = nil,
        by claimant: Claimant = .any
    ) throws(Rejection) -> Bool {
        try rows.end(id, reason: reason, observedAt: observedAt.map(Self.minute), claimant: claimant, actor: "tester")
    }

    func rejection(
        _ id: ActivityID = "a",
        token: UInt8? = 1,
        at observedAt: Int? = nil,
        claimant: Claimant = .any,
        _ change: (inout ActivityRegistration) -> Void = { _ in }
    ) -> Rejection? {
        var copy = self
        do throws(Rejection) {
            try copy.register(id, token: token, at: observedAt, claimant: claimant, change)
            return nil
        } catch { return error }
    }

    func activity(_ id: ActivityID = "a") -> Activity? { rows.activity(id) }

    func state(_ id: ActivityID = "a") -> ActivityState? {
        activity(id).map { $0.state(of: rows.installation(of: $0), at: rows.now) }
    }

    var events: [NewAuditEvent.Kind] { rows.events.map(\.kind) }
}

extension TokenDigest { init(_ number: UInt8) { self.init(bytes: [number]) } }

extension ActivityID: ExpressibleByStringLiteral {
    package init(stringLiteral value: String) { self.init(stored: UTF8Text(value)) }
}

extension InstallationHash {
    static let phone = InstallationHash(bytes: [1])
    static let tablet = InstallationHash(bytes: [2])
}

extension AliasSet {
    static func order(_ value: String) -> AliasSet {
        AliasSet(stored: [Alias(checkedKind: "liveactivityId", value: UTF8Text(value))])
    }
}
