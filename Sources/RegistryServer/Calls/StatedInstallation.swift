import RegistryCore
import RegistryStore

/// Combines the installation ids of the path, the header and the body.
struct StatedInstallation {
    private let bundleID: BundleID
    private(set) var hash: InstallationHash?

    init(_ call: ScopedCall, _ parameters: inout ParameterReader) {
        bundleID = call.scope.app.bundleID
        add(parameters.field(.installationID, InstallationID.init), named: "X-Installation-Id", &parameters)
    }

    mutating func add(_ id: InstallationID?, named name: String, _ parameters: inout ParameterReader) {
        guard let id else { return }
        let other = InstallationHash(of: id, in: bundleID)
        if let hash, hash != other {
            parameters.add([JSONFault(pointer: "/\(name)", detail: "differs from another value in the request")])
        }
        hash = hash ?? other
    }
}
