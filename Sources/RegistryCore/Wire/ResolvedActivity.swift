import Foundation

/// A batch of aliases to resolve. A malformed alias gets a problem in its position.
package struct ResolveBody: Sendable, Hashable {
    package let aliases: [Result<Alias, Problem>]
    package let limitPerAlias: Int
    package static let maximumAliases = 1000
    /// Activities per page, or per alias of a batch.
    package static let limits = 1...1000
    package static let defaultLimit = 100

    package static func read(_ json: inout JSONReader) -> ResolveBody? {
        let elements = json.elements("aliases", maximumCount: maximumAliases)
        let limit = json.optional("limitPerAlias", Int.within(limits)) ?? defaultLimit
        guard let elements else { return nil }
        let aliases = elements.map { element in
            var json = element
            let alias = Alias.read(&json)
            return alias.map { .success($0) } ?? Result<Alias, Problem>.failure(Problem(faults: json.faults))
        }
        return ResolveBody(aliases: aliases, limitPerAlias: limit)
    }
}

package struct ResolvedActivity: Sendable, Hashable, JSONObjectEncodable {
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
        (self.key, self.revision) = (key, revision)
        (self.activityID, self.token, self.installation, self.facts) = (activityID, token, installation, facts)
        (self.startedAt, self.startsAt, self.expiresAt) = (startedAt, startsAt, expiresAt)
        (self.observedAt, self.confirmedAt) = (observedAt, confirmedAt)
    }

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
    }
}
