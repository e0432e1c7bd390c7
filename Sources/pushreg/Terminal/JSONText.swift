import RegistryCore

extension JSONEncodable {
    var jsonLine: String { String(decoding: jsonBytes, as: UTF8.self) }
}
