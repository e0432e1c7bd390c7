/// Something that happened, in the order in which it did: the client takes one at a time.
enum Command: Sendable {
    case start
    case report(Report, DeviceTime)
    /// The app came to the foreground, the network came back, or the phone was unlocked.
    case foreground
    case signIn(UTF8Text, CredentialSource, DeviceTime)
    case signOut(DeviceTime, CheckedContinuation<Bool, Never>?)
    case answered(Delivery, TransportResult, DeviceTime)
    case credentialIsMissing(OutboxEntry)
    case credentialCame(Owner, String?)
    case woken
    /// Nothing happened: somebody waits until all before was taken.
    case caughtUp(CheckedContinuation<Void, Never>)
}

/// Gives the JWT of a signed-in user; nil when there is none now.
public typealias CredentialSource = @Sendable () async -> String?

/// An entry that was sent.
struct Delivery: Sendable {
    let entry: OutboxEntry
    let sent: DeviceTime
    let credential: String
    /// The source of the credential: the entry's owner, or the installation in the place of one who signed out.
    let authority: Owner
}
