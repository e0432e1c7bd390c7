/// A kind of push token: whose it is, and what a push to it says in `apns-topic` and `apns-push-type`.
///
/// The set is open, for Apple goes on adding kinds: a kind that an installation has one token of costs a member of
/// ``ofInstallations`` and a row in the table `token_kinds`. Its calls and its place in the database follow.
package struct TokenKind: Sendable, Hashable, CustomStringConvertible {
    /// The holder of a kind's tokens.
    package enum Holder: String, Sendable, Hashable, CaseIterable {
        case activity
        /// An installation has one for each attributes type.
        case attributesType = "attributes-type"
        /// An installation has one.
        case installation
    }

    /// Lower-case letters and hyphens; in paths it stands behind `tokens/`.
    package let name: String
    /// The part of the registry that has such tokens: an activity, or an installation once or for each attributes type.
    package let holder: Holder
    /// Whether a value belongs to the holder that claimed it last alone (R7); else values may repeat.
    package let hasOneOwner: Bool
    /// The part of `apns-topic` after the bundle id; may be empty.
    package let topicSuffix: String
    /// The `apns-push-type`.
    package let pushType: String

    /// Makes a kind of its parts; values belong to one owner unless `hasOneOwner` is false.
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
    /// The token of ordinary notifications.
    package static let device = TokenKind(name: "device", holder: .installation, topicSuffix: "", pushType: "alert")

    /// The token of an installation's widgets (Apple: `WidgetPushInfo.token`, iOS 26).
    package static let widget = TokenKind(
        name: "widget",
        holder: .installation,
        topicSuffix: ".push-type.widgets",
        pushType: "widgets"
    )

    /// The kinds that an installation has one token of; each has its calls under `…/tokens/{name}`.
    package static let ofInstallations: [TokenKind] = [.device, .widget]

    /// All kinds there are, in the order in which lists have them.
    package static let all: [TokenKind] = [.update, .start] + ofInstallations

    /// Reads the ``name`` of a kind that an installation has one token of.
    ///
    /// - Throws: a sentence when there is no such kind.
    package init(ofInstallations name: String) throws(JSONFaultReason) {
        guard let kind = Self.ofInstallations.first(where: { $0.name == name }) else {
            throw JSONFaultReason("must be one of \(Self.ofInstallations.map(\.name).joined(separator: ", "))")
        }
        self = kind
    }

    /// The `apns-topic` of pushes to tokens of this kind.
    package func topic(of app: BundleID) -> String { app.rawValue + topicSuffix }

    /// The kind's ``name``.
    package var description: String { name }
}

/// The place in which an installation keeps one token: its start token of an attributes type, or its token of a kind.
package struct TokenSlot: Sendable, Hashable {
    /// The kind of the token.
    package let kind: TokenKind
    /// Only for start tokens.
    package let attributesType: AttributesType?

    private init(kind: TokenKind, attributesType: AttributesType?) {
        self.kind = kind
        self.attributesType = attributesType
    }

    /// The start token of an attributes type.
    package static func start(_ attributesType: AttributesType) -> TokenSlot {
        TokenSlot(kind: .start, attributesType: attributesType)
    }

    /// The token of a kind that an installation has one of.
    package static func only(_ kind: TokenKind) -> TokenSlot {
        precondition(kind.holder == .installation, "an installation has more than one token of this kind")
        return TokenSlot(kind: kind, attributesType: nil)
    }
}
