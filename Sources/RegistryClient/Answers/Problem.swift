/// A refusal by the registry (RFC 9457), as far as a client needs it.
package struct Problem: Sendable, Hashable, Decodable {
    /// The stable word that programs branch on, such as `superseded`.
    package let code: String
    /// One sentence for the developer.
    package var detail: String?
    /// The registry's clock, in RFC 3339, on problems that turn on time.
    package var serverTime: String?
}
