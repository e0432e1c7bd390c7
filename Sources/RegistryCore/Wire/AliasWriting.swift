extension Alias: JSONEncodable {
    /// Writes `{kind, value}`.
    public func encode(to json: inout JSONWriter) {
        json.object { json in
            json.member("kind", kind)
            json.member("value", value)
        }
    }
}

extension BundleID {
    /// The `apns-push-type` of pushes to activities.
    public static let liveActivityPushType = "liveactivity"

    /// The `apns-topic` of pushes to this app's activities.
    public var liveActivityTopic: String { "\(rawValue).push-type.liveactivity" }
}
