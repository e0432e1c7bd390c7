import Foundation

extension ActivityRegistration {
    /// Does not read `installationId`, because only its hash is kept, nor the subject, which comes from the
    /// credentials.
    package init(from json: inout JSONReader, requiresToken: Bool = true) {
        let token =
            requiresToken
            ? json.string("token", PushToken.init(hexadecimal:))
            : json.optionalString("token", PushToken.init(hexadecimal:))
        self.init(token: token)
        observedAt = json.optionalTimestamp("observedAt")
        startedAt = json.optionalTimestamp("startedAt")
        startsAt = json.optionalTimestamp("startsAt")
        facts = ActivityFacts(from: &json)
        aliases = json.optionalNested("aliases") { AliasSet.read(&$0) }
        metadata = json.optional("metadata", Metadata.init(_:))
    }
}
