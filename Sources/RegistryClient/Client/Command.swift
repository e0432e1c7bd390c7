/// Something that happened, with what follows from it: the client takes one at a time, in the order in which they did.
struct Command: Sendable {
    /// It is about times or the user, which are in the file.
    var waitsForFile = false
    /// The report that it brings, if it does.
    var report: Report?
    let carryOut: @Sendable (isolated LiveActivityRegistry) -> Void
}

/// Gives the JWT of a signed-in user; nil when there is none now.
public typealias CredentialSource = @Sendable () async -> String?
