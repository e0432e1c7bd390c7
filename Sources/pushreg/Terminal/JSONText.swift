import RegistryCore

extension JSONEncodable {
    /// The value as JSON on one line.
    var jsonLine: String { String(decoding: jsonBytes, as: UTF8.self) }
}
