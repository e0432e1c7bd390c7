import Foundation

package struct ResolvedActivity: Sendable, Hashable {
    /// Internal and immutable. Orders pages.
    package let key: Int64
    package let activityID: ActivityID
    package let token: PushToken
    package let installation: InstallationHash?
    package let facts: ActivityFacts
    package let startedAt: Date
    package let startsAt: Date?
    package let observedAt: Date
    package let confirmedAt: Date
    package let expiresAt: Date
    package let revision: Int
    /// The metadata of the activity, if the caller requested it.
    package var metadata: Metadata?
    /// The metadata of the installation, if the caller requested it.
    package var installationMetadata: Metadata?

    package init(
        key: Int64,
        activityID: ActivityID,
        token: PushToken,
        installation: InstallationHash? = nil,
        facts: ActivityFacts = ActivityFacts(),
        startedAt: Date,
        startsAt: Date? = nil,
        observedAt: Date,
        confirmedAt: Date,
        expiresAt: Date,
        revision: Int
    ) {
        self.key = key
        self.activityID = activityID
        self.token = token
        self.installation = installation
        self.facts = facts
        self.startedAt = startedAt
        self.startsAt = startsAt
        self.observedAt = observedAt
        self.confirmedAt = confirmedAt
        self.expiresAt = expiresAt
        self.revision = revision
    }
}

extension ResolvedActivity: JSONObjectEncodable {
    package func writeMembers(to json: inout JSONWriter) {
        json.member("activityId", activityID.rawValue)
        json.hex("token", token.bytes)
        json.hex("installation", ifPresent: installation?.bytes)
        facts.writeMembers(to: &json)
        json.member("startedAt", startedAt)
        json.member("startsAt", ifPresent: startsAt)
        json.member("observedAt", observedAt)
        json.member("confirmedAt", confirmedAt)
        json.member("expiresAt", expiresAt)
        json.member("revision", revision)
        json.raw("metadata", ifPresent: metadata?.canonicalJSON)
        json.raw("installationMetadata", ifPresent: installationMetadata?.canonicalJSON)
    }
}
