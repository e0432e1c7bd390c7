import Foundation

/// A client's registration, rotation or refresh of an activity. Without a token, it only shows that the activity runs.
package struct ActivityRegistration: Sendable, Hashable {
    /// Nil leaves the stored token unchanged.
    package var token: PushToken?
    /// The device's clock when `pushTokenUpdates` delivered the token. Nil means the time of receipt.
    package var observedAt: Date?
    /// Nil means ``observedAt``, or else the time of receipt. A time after the receipt counts as the receipt. The
    /// earliest received value stays.
    package var startedAt: Date?
    /// The start of a scheduled activity. Used only if it is later than ``observedAt``.
    package var startsAt: Date?
    /// A registry accepted this before, so its age is not a reason to reject it.
    package var wasAccepted = false
    /// Nil if the request names none. The first received value stays.
    package var installation: InstallationHash?
    package var subject: UTF8Text?
    package var facts = ActivityFacts()
    /// Replaces all aliases unless nil.
    package var aliases: AliasSet?
    /// Used if the activity never received aliases.
    package var defaultAliases: AliasSet?
    /// Replaces all metadata unless nil.
    package var metadata: Metadata?

    package init(token: PushToken?) { self.token = token }

    /// Does not read `installationId`, because only its hash is kept, nor the subject, which comes from the
    /// credentials.
    package init(from json: inout JSONReader, requiresToken: Bool = true) {
        let token =
            requiresToken
            ? json.string("token", PushToken.init(hexadecimal:))
            : json.optionalString("token", PushToken.init(hexadecimal:))
        self.init(token: token)
        observedAt = json.optional("observedAt", Date.read)
        startedAt = json.optional("startedAt", Date.read)
        startsAt = json.optional("startsAt", Date.read)
        facts = ActivityFacts(from: &json)
        aliases = json.optionalNested("aliases") { AliasSet.read(&$0) }
        metadata = json.optional("metadata", Metadata.init(_:))
    }
}

/// The second half of a name-only activity's identity, because thousands of phones can share one `liveactivityId`.
package enum ActivityOwner: Sendable, Hashable {
    case installation(InstallationHash)
    case subject(UTF8Text)
    /// For sender and admin keys without an installation.
    case app

    /// An installation takes precedence over a subject, and a subject over the app.
    package init(installation: InstallationHash?, subject: UTF8Text?) {
        self = installation.map { .installation($0) } ?? subject.map { .subject($0) } ?? .app
    }
}
