import Foundation
import RegistryCore
import RegistryStore

/// A line of an import, or a row: what should be something for the registry to know.
struct ImportedLine: Sendable {
    enum Content: Sendable {
        /// NDJSON; nil when it is too long.
        case text([UInt8]?)
        case device(ImportedDevice)
        /// It is known already that nothing is to be said.
        case nothing(LineOutcome)
    }

    /// The number of the line that it begins on.
    let number: Int
    let content: Content
}

/// A device that another system knew.
///
/// Its installation is one that no request can name, so that nobody who knows the other system's ids has a right to it. The
/// app's own registration of the same token takes the token over.
struct ImportedDevice: Sendable {
    let installation: InstallationHash
    let token: PushToken
    let aliases: AliasSet
    let observedAt: Date
}

extension ImportedDevice {
    /// The token's record comes first: where the rules refuse it, for the app itself knows better, nobody needs the name.
    var records: [TransferRecord] {
        [
            .token(.only(.device), installation, TokenRegistration(token: token, observedAt: observedAt)),
            .installation(
                installation,
                InstallationProfile(aliases: aliases, observedAt: observedAt),
                subject: nil
            ),
        ]
    }

    /// The record that takes the others back.
    var logOut: TransferRecord { .logOut(installation, at: observedAt) }
}
