import Foundation

extension ActivityRegistration {
    /// Leaves faults in the reader: if there are any, this must not be used.
    ///
    /// `installationId` is not read here because only its hash is kept, nor is the subject, which the credentials name.
    ///
    /// - Parameters:
    ///   - requiresToken: whether a body without `token` is a fault.
    ///   - now: `startsAt` may be ``longestSchedule`` days later.
    package init(from json: inout JSONReader, requiresToken: Bool = true, now: Date) {
        let token =
            requiresToken
            ? json.string("token", PushToken.init(hexadecimal:))
            : json.optionalString("token", PushToken.init(hexadecimal:))
        self.init(token: token)
        observedAt = json.optionalTimestamp("observedAt")
        startedAt = json.optionalTimestamp("startedAt")
        startsAt = json.optional("startsAt") { value throws(JSONFaultReason) in
            let time = try JSONReader.timestamp(value)
            guard time <= now.addingTimeInterval(Double(Self.longestSchedule) * 86_400) else {
                throw JSONFaultReason("must be at most \(Self.longestSchedule) days ahead")
            }
            return time
        }
        facts = ActivityFacts(from: &json)
        aliases = json.optionalNested("aliases") { AliasSet.read(&$0) }
        metadata = json.optional("metadata", Metadata.init(_:))
    }
}
