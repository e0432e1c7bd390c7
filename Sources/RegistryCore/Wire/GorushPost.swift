/// A failed push as gorush reports it to its `feedback_hook_url`.
package enum GorushPost: Sendable, Hashable {
    case report(FeedbackReport)
    case ignored(Ignored)

    package enum Ignored: String, Sendable, Hashable, CaseIterable {
        case platform
        case type
        /// gorush masks tokens by default (`log.hide_token`).
        case maskedToken = "masked-token"
        /// `error` is empty, so the reason is unknown.
        case noError = "no-error"

        package var detail: String {
            switch self {
            case .platform: "The push was not for iOS."
            case .type: "The post does not report a failed push."
            case .maskedToken: "The token is masked. Set log.hide_token to false in gorush's configuration."
            case .noError: "The post has no error, so it does not affect the token."
            }
        }
    }

    /// The reasons of status 410. gorush passes on only the reason.
    private static let goneReasons: Set<UTF8Text> = ["Unregistered", "ExpiredToken"]

    /// Reads `{notif_id, type, platform, token, message, error}`. gorush passes on no time, so the token is dead as of
    /// the receipt.
    package static func read(_ json: inout JSONReader) -> GorushPost? {
        let type = json.required("type", String.read)
        let platform = json.required("platform", String.read)
        let masked = json.optional("token", String.read)
        let error = json.optionalString("error", text)
        guard let type, let platform, json.faults.isEmpty else { return nil }
        guard platform == "ios" else { return .ignored(.platform) }
        guard type == "failed-push" else { return .ignored(.type) }
        guard masked?.contains("*") != true else { return .ignored(.maskedToken) }
        guard let token = json.string("token", PushToken.init(hexadecimal:)) else { return nil }
        guard let error, !error.isEmpty else { return .ignored(.noError) }
        let status = goneReasons.contains(UTF8Text(error)) ? 410 : 400
        return .report(FeedbackReport(token: token, status: status, reason: error))
    }

    /// APNs's reason, or gorush's message about its connection, which has no length limit.
    private static func text(_ text: String) throws(JSONFaultReason) -> String {
        guard !text.utf8.contains(0) else { throw JSONFaultReason("must not contain the character U+0000") }
        return text.utf8.count <= 64 ? text : String(text.prefix(16))
    }
}
