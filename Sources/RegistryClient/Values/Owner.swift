/// Under which credential a report was made: it goes out under this one, or not at all (C14).
package enum Owner: Sendable, Hashable, Codable {
    /// The publishable key, while nobody is signed in.
    case installation
    /// The JWT of a signed-in user.
    case user(UTF8Text)
}
