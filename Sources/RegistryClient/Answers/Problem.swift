import Foundation

/// A refusal by the registry (RFC 9457), as far as a client needs it.
package struct Problem: Sendable, Hashable, Decodable {
    /// The stable word that programs branch on, such as `superseded`.
    package let code: String
    /// One sentence for the developer.
    package let detail: String
    /// The registry's clock, on problems that turn on time.
    package let serverTime: Timestamp?

    package init(code: String, detail: String, serverTime: Timestamp? = nil) {
        (self.code, self.detail, self.serverTime) = (code, detail, serverTime)
    }

    private enum CodingKeys: CodingKey { case code, detail, serverTime }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        code = try container.decode(String.self, forKey: .code)
        detail = try container.decodeIfPresent(String.self, forKey: .detail) ?? ""
        serverTime = try container.decodeIfPresent(String.self, forKey: .serverTime).flatMap(Timestamp.init(text:))
    }
}
