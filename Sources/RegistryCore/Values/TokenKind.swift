/// A kind of push token: its holder, and the `apns-topic` and `apns-push-type` of pushes to it.
///
/// The set is open because Apple adds kinds: a kind of which an installation has one token needs a member of
/// ``ofInstallations`` and a row in the table `token_kinds`. Its calls and storage follow.
package struct TokenKind: Sendable, Hashable, CustomStringConvertible {
    package enum Holder: String, Sendable, Hashable, CaseIterable {
        case activity
        /// An installation has one for each attributes type.
        case attributesType = "attributes-type"
        /// An installation has one.
        case installation
    }

    /// Lower-case letters and hyphens; in paths it follows `tokens/`.
    package let name: String
    /// An activity, or an installation once or for each attributes type.
    package let holder: Holder
    /// Whether a value belongs only to its last claimant (R7); else values may repeat.
    package let hasOneOwner: Bool
    /// The part of `apns-topic` after the bundle id; may be empty.
    package let topicSuffix: String
    package let pushType: String

    package init(name: String, holder: Holder, hasOneOwner: Bool = true, topicSuffix: String, pushType: String) {
        self.name = name
        self.holder = holder
        self.hasOneOwner = hasOneOwner
        self.topicSuffix = topicSuffix
        self.pushType = pushType
    }

    /// The token of a running activity (Apple: `pushToken`).
    package static let update = TokenKind(
        name: "update",
        holder: .activity,
        topicSuffix: ".push-type.liveactivity",
        pushType: "liveactivity"
    )
    /// The token that starts activities (Apple: `pushToStartToken`).
    package static let start = TokenKind(
        name: "start",
        holder: .attributesType,
        hasOneOwner: false,
        topicSuffix: ".push-type.liveactivity",
        pushType: "liveactivity"
    )
    package static let device = TokenKind(name: "device", holder: .installation, topicSuffix: "", pushType: "alert")

    /// The token of an installation's widgets (Apple: `WidgetPushInfo.token`, iOS 26).
    package static let widget = TokenKind(
        name: "widget",
        holder: .installation,
        topicSuffix: ".push-type.widgets",
        pushType: "widgets"
    )

    /// An installation has one token of each; each has its calls under `…/tokens/{name}`.
    package static let ofInstallations: [TokenKind] = [.device, .widget]
    package static let all: [TokenKind] = [.update, .start] + ofInstallations

    package init(ofInstallations name: String) throws(JSONFaultReason) {
        guard let kind = Self.ofInstallations.first(where: { $0.name == name }) else {
            throw JSONFaultReason("must be one of \(Self.ofInstallations.map(\.name).joined(separator: ", "))")
        }
        self = kind
    }

    package func topic(of app: BundleID) -> String { app.rawValue + topicSuffix }
    package var description: String { name }
}

/// The place in which an installation keeps one token: its start token of an attributes type, or its token of a kind.
package struct TokenSlot: Sendable, Hashable {
    package let kind: TokenKind
    package let attributesType: AttributesType?

    private init(kind: TokenKind, attributesType: AttributesType?) {
        self.kind = kind
        self.attributesType = attributesType
    }

    package static func start(_ attributesType: AttributesType) -> TokenSlot {
        TokenSlot(kind: .start, attributesType: attributesType)
    }

    package static func only(_ kind: TokenKind) -> TokenSlot {
        precondition(kind.holder == .installation, "an installation has more than one token of this kind")
        return TokenSlot(kind: kind, attributesType: nil)
    }
}
