extension ActivityRegistration {
    /// Reads what a body may say of an activity, and leaves its faults in the reader: with any, this must not be used.
    ///
    /// `installationId` is not read here, for only its hash is kept, nor is the subject, which the credentials name.
    ///
    /// - Parameter requiresToken: whether a body without `token` is a fault.
    public init(from json: inout JSONReader, requiresToken: Bool = true) {
        let token =
            requiresToken
            ? json.string("token", PushToken.init(hexadecimal:))
            : json.optionalString("token", PushToken.init(hexadecimal:))
        self.init(token: token)
        observedAt = json.optionalTimestamp("observedAt")
        startedAt = json.optionalTimestamp("startedAt")
        attributesType = json.optionalString("attributesType", AttributesType.init)
        aliases = json.optionalNested("aliases") { AliasSet.read(&$0) }
        frequentPushesEnabled = json.optionalBool("frequentPushesEnabled")
        metadata = json.optional("metadata", Metadata.init)
    }
}
