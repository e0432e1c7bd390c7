extension App: JSONEncodable {
    package func encode(to json: inout JSONWriter) {
        json.object { writeMembers(to: &$0) }
    }

    package func writeMembers(to json: inout JSONWriter) {
        json.member("bundleId", bundleID.rawValue)
        json.member("name", ifPresent: settings.name)
        json.member("activityLifetime", settings.activityLifetime)
        json.member("tombstoneRetention", settings.tombstoneRetention)
        json.member("eventRetention", settings.eventRetention)
        json.object("aliasRules") { json in
            for (kind, rule) in settings.aliasRules.sorted(by: { $0.key < $1.key }) {
                json.member(kind.string, rule.rawValue)
            }
        }
        json.key("tokenKinds")
        json.value(settings.tokenKinds)
        if let jwt = settings.jwt, !jwt.isEmpty { json.member("jwt", jwt) }
        json.member("createdAt", createdAt)
        json.member("updatedAt", updatedAt)
    }
}
