import Crypto
import Foundation
import RegistryCore

extension InstallationHash {
    /// The SHA-256 of the bundle id, a NUL byte and the installation id, so that hashes of two apps never match.
    package init(of installation: InstallationID, in app: BundleID) {
        let digest = SHA256.hash(data: Data("\(app.rawValue)\0\(installation.rawValue)".utf8))
        self.init(bytes: Array(digest))
    }
}
