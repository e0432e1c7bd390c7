import Foundation

extension ActivityRegistration {
    /// Leaves faults in the reader: if there are any, this must not be used.
    ///
    /// `installationId` is not read here because only its hash is kept, nor is the subject, which the credentials name.
    ///
    /// - Parameter requiresToken: whether a body without `token` is a fault.
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
