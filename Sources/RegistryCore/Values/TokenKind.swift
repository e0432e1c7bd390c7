/// A kind of push token: its holder, and the `apns-topic` and `apns-push-type` of pushes to it.
///
/// The set is open because Apple adds kinds: the settings of an app can name more (``AppSettings/tokenKinds``). Each
/// kind of an app has its own name, and two kinds are equal if their names are.
package struct TokenKind: Sendable, Hashable, CustomStringConvertible {
    package enum Holder: String, Sendable, Hashable, CaseIterable {
        case activity
        /// An installation has one token per attributes type.
        case attributesType = "attributes-type"
        /// An installation has one token.
        case installation
    }

    /// Lower-case letters and hyphens. In paths it follows `tokens/`.
    package let name: String
    package let holder: Holder
    /// The part of `apns-topic` after the bundle id. Can be empty.
    package let topicSuffix: String
    package let pushType: String

    package init(name: String, holder: Holder, topicSuffix: String, pushType: String) {
        self.name = name
        self.holder = holder
        self.topicSuffix = topicSuffix
        self.pushType = pushType
    }

    /// Whether a value belongs only to its last claimant (R7). Attributes types of an app can share a value.
    package var hasOneOwner: Bool { holder != .attributesType }
    package static func == (left: TokenKind, right: TokenKind) -> Bool { left.name == right.name }
    package func hash(into hasher: inout Hasher) { hasher.combine(name) }

    /// The token of a running activity (Apple: `pushToken`).
    package static let update = TokenKind(
        name: "update",
        holder: .activity,
        topicSuffix: ".push-type.liveactivity",
        pushType: "liveactivity"
    )
    /// Apple's `pushToStartToken`.
    package static let start = TokenKind(
        name: "start",
        holder: .attributesType,
        topicSuffix: ".push-type.liveactivity",
        pushType: "liveactivity"
    )
    package static let device = TokenKind(name: "device", holder: .installation, topicSuffix: "", pushType: "alert")

    /// Apple's `WidgetPushInfo.token` (iOS 26).
    package static let widget = TokenKind(
        name: "widget",
        holder: .installation,
        topicSuffix: ".push-type.widgets",
        pushType: "widgets"
    )

    /// The token of incoming calls (Apple: PushKit's `PKPushType.voIP`).
    package static let voip = TokenKind(name: "voip", holder: .installation, topicSuffix: ".voip", pushType: "voip")

    /// The built-in kinds, which every app has.
    package static let all: [TokenKind] = [.update, .start, .device, .widget, .voip]

    /// A stored kind. A kind that the settings no longer name can still have rows, which senders do not get.
    package init(stored name: String) {
        self =
            Self.all.first { $0.name == name }
            ?? TokenKind(name: name, holder: .installation, topicSuffix: "", pushType: "")
    }

    /// - Throws: a sentence if none of the kinds has the name.
    package init(_ name: String, among kinds: [TokenKind]) throws(JSONFaultReason) {
        guard let kind = kinds.first(where: { $0.name == name }) else {
            throw JSONFaultReason("must be one of \(kinds.map(\.name).joined(separator: ", "))")
        }
        self = kind
    }

    package func topic(of app: BundleID) -> String { app.rawValue + topicSuffix }
    package var description: String { name }
}

/// The slot for one token of an installation: a start token of an attributes type, or a token of another kind.
package struct TokenSlot: Sendable, Hashable {
    package let kind: TokenKind
    package let attributesType: AttributesType?

    /// - Parameter attributesType: nil for kinds with one token per installation.
    package init(of kind: TokenKind, _ attributesType: AttributesType?) {
        self.kind = kind
        self.attributesType = kind.holder == .attributesType ? attributesType : nil
    }

    package static func start(_ attributesType: AttributesType) -> TokenSlot { TokenSlot(of: .start, attributesType) }

    package static func only(_ kind: TokenKind) -> TokenSlot {
        precondition(kind.holder == .installation, "an installation has more than one token of this kind")
        return TokenSlot(of: kind, nil)
    }
}

/// The kinds of tokens that an app's settings add to the built-in ones: `{"NAME": {"topicSuffix", "pushType", "per"}}`.
extension TokenKind {
    package static let mostSettings = 16
    /// Counts and the audit use this word for the activities themselves.
    private static let reserved = all.map(\.name) + ["activity"]

    /// Faults stay in the reader. If it has any, discard the kinds.
    static func readSettings(_ json: inout JSONReader) -> [TokenKind] {
        if json.object.count > mostSettings { json.fault(nil, "must have at most \(mostSettings) kinds") }
        return json.object.keys.sorted().compactMap { name in
            if let fault = fault(of: name) { json.fault(name, fault) }
            return json.optionalNested(name) { read(&$0, name) }
        }
    }

    private static func fault(of name: String) -> String? {
        if reserved.contains(name) { return "is a built-in kind" }
        return name.wholeMatch(of: /[a-z][a-z0-9-]{0,31}/) != nil
            ? nil : "must be 1 to 32 lower-case letters, digits or '-', and begin with a letter"
    }

    private static func read(_ json: inout JSONReader, _ name: String) -> TokenKind? {
        let suffix = json.string("topicSuffix") { text throws(JSONFaultReason) in
            guard text.wholeMatch(of: /(\.[a-z0-9.-]{0,63})?/) != nil else {
                throw JSONFaultReason("must be empty, or '.' and at most 63 lower-case letters, digits, '.' or '-'")
            }
            return text
        }
        let pushType = json.string("pushType") { text throws(JSONFaultReason) in
            guard text.wholeMatch(of: /[a-z0-9-]{1,32}/) != nil else {
                throw JSONFaultReason("must be 1 to 32 lower-case letters, digits or '-'")
            }
            return text
        }
        let holder = json.optionalString("per") { text throws(JSONFaultReason) in
            guard let holder = Holder(rawValue: text), holder != .activity else {
                throw JSONFaultReason("must be one of installation, attributes-type")
            }
            return holder
        }
        guard let suffix, let pushType else { return nil }
        return TokenKind(name: name, holder: holder ?? .installation, topicSuffix: suffix, pushType: pushType)
    }

    /// Stored settings were checked when they were received.
    package static func settings(stored value: JSONValue) -> [TokenKind] {
        var json = JSONReader(value)
        return readSettings(&json)
    }
}

extension JSONWriter {
    package mutating func value(_ kinds: [TokenKind]) {
        object { json in
            for kind in kinds {
                json.object(kind.name) { json in
                    json.member("topicSuffix", kind.topicSuffix)
                    json.member("pushType", kind.pushType)
                    json.member("per", kind.holder.rawValue)
                }
            }
        }
    }
}
