/// A kind of push token: whose it is, and what a push to it says in `apns-topic` and `apns-push-type`.
///
/// The set is open, for Apple goes on adding kinds: a kind that an installation has one token of costs a member of
/// ``ofInstallations`` and a row in the table `token_kinds`. Its calls and its place in the database follow.
public struct TokenKind: Sendable, Hashable, CustomStringConvertible {
    /// The holder of a kind's tokens.
    public enum Holder: String, Sendable, Hashable, CaseIterable {
        case activity
        /// An installation has one for each attributes type.
        case attributesType = "attributes-type"
        /// An installation has one.
        case installation
    }

    /// Lower-case letters and hyphens; in paths it stands behind `tokens/`.
    public let name: String
    /// The part of the registry that has such tokens: an activity, or an installation once or for each attributes type.
    public let holder: Holder
    /// Whether a value belongs to the holder that claimed it last alone (R7); else values may repeat.
    public let hasOneOwner: Bool
    /// The part of `apns-topic` after the bundle id; may be empty.
    public let topicSuffix: String
    /// The `apns-push-type`.
    public let pushType: String

    /// Makes a kind of its parts; values belong to one owner unless `hasOneOwner` is false.
    public init(name: String, holder: Holder, hasOneOwner: Bool = true, topicSuffix: String, pushType: String) {
        self.name = name
        self.holder = holder
        self.hasOneOwner = hasOneOwner
        self.topicSuffix = topicSuffix
        self.pushType = pushType
    }

    /// The token of a running activity (Apple: `pushToken`).
    public static let update = TokenKind(
        name: "update",
        holder: .activity,
        topicSuffix: ".push-type.liveactivity",
        pushType: "liveactivity"
    )
    /// The token that starts activities (Apple: `pushToStartToken`).
    public static let start = TokenKind(
        name: "start",
        holder: .attributesType,
        hasOneOwner: false,
        topicSuffix: ".push-type.liveactivity",
        pushType: "liveactivity"
    )
    /// The token of ordinary notifications.
    public static let device = TokenKind(name: "device", holder: .installation, topicSuffix: "", pushType: "alert")

    /// The token of an installation's widgets (Apple: `WidgetPushInfo.token`, iOS 26).
    public static let widget = TokenKind(
        name: "widget",
        holder: .installation,
        topicSuffix: ".push-type.widgets",
        pushType: "widgets"
    )

    /// The kinds that an installation has one token of; each has its calls under `…/tokens/{name}`.
    public static let ofInstallations: [TokenKind] = [.device, .widget]

    /// All kinds there are, in the order in which lists have them.
    public static let all: [TokenKind] = [.update, .start] + ofInstallations

    /// Reads the ``name`` of a kind that an installation has one token of.
    ///
    /// - Throws: a sentence when there is no such kind.
    public init(ofInstallations name: String) throws(JSONFaultReason) {
        guard let kind = Self.ofInstallations.first(where: { $0.name == name }) else {
            throw JSONFaultReason("must be one of \(Self.ofInstallations.map(\.name).joined(separator: ", "))")
        }
        self = kind
    }

    /// The `apns-topic` of pushes to tokens of this kind.
    public func topic(of app: BundleID) -> String { app.rawValue + topicSuffix }

    /// The kind's ``name``.
    public var description: String { name }
}

/// The place in which an installation keeps one token: its start token of an attributes type, or its token of a kind.
public struct TokenSlot: Sendable, Hashable {
    /// The kind of the token.
    public let kind: TokenKind
    /// Only for start tokens.
    public let attributesType: AttributesType?

    private init(kind: TokenKind, attributesType: AttributesType?) {
        self.kind = kind
        self.attributesType = attributesType
    }

    /// The start token of an attributes type.
    public static func start(_ attributesType: AttributesType) -> TokenSlot {
        TokenSlot(kind: .start, attributesType: attributesType)
    }

    /// The token of a kind that an installation has one of.
    public static func only(_ kind: TokenKind) -> TokenSlot {
        precondition(kind.holder == .installation, "an installation has more than one token of this kind")
        return TokenSlot(kind: kind, attributesType: nil)
    }
}
