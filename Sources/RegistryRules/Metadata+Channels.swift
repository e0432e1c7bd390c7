import RegistryCore

extension Metadata {
    /// Whether the phone of an installation can follow broadcast channels, because its client reports an `osVersion` of
    /// 18 or later.
    package var supportsChannels: Bool {
        guard case .string(let version)? = (try? JSONParser.parse(canonicalJSON))?["osVersion"] else { return false }
        return Int(version.prefix { $0 != "." }).map { $0 >= 18 } ?? false
    }
}
