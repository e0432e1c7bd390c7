import Crypto
import Foundation
import RegistryCore

extension InstallationHash {
    /// The SHA-256 over the bundle id, a NUL byte and the installation id, so that two apps' installations never meet.
    package init(of installation: InstallationID, in app: BundleID) {
        let digest = SHA256.hash(data: Data("\(app.rawValue)\0\(installation.rawValue)".utf8))
        self.init(bytes: Array(digest))
    }

    /// The hash of an installation that another system knew by an id of its own.
    ///
    /// No request can name it, whoever knows the id: there are two NUL bytes, and an installation's id has none.
    package init(of id: String, knownTo system: String, in app: BundleID) {
        let digest = SHA256.hash(data: Data("\(app.rawValue)\0\(system)\0\(id)".utf8))
        self.init(bytes: Array(digest))
    }
}
