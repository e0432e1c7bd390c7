import RegistryCore
import RegistryStore

/// Where a request may name its installation, and what it said there.
struct StatedInstallation {
    private let bundleID: BundleID
    private(set) var hash: InstallationHash?

    /// Begins with the `X-Installation-Id` of the request, if there is one.
    init(_ call: ScopedCall, _ parameters: inout ParameterReader) {
        bundleID = call.scope.app.bundleID
        add(parameters.field(.installationID, InstallationID.init), named: "X-Installation-Id", &parameters)
    }

    /// Adds what another place says; a fault when it is not the same.
    mutating func add(_ id: InstallationID?, named name: String, _ parameters: inout ParameterReader) {
        guard let id else { return }
        let other = InstallationHash(of: id, in: bundleID)
        if let hash, hash != other {
            parameters.add([JSONFault(pointer: "/\(name)", detail: "differs from what the request says elsewhere")])
        }
        hash = hash ?? other
    }
}
