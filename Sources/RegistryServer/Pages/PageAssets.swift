import Crypto
import HTTPTypes
import RegistryCore

/// The address contains a hash of the files, so that browsers can cache them forever.
struct PageAssets: Sendable {
    private let files: [String: [UInt8]]
    /// Such as `/docs/assets/9f1c2d3e4b5a`.
    let address: String

    init(below base: String, _ files: [String: [UInt8]]) {
        self.files = files
        let all = files.sorted { $0.key < $1.key }.flatMap(\.value)
        address = base + "/" + Hexadecimal.encode(Array(SHA256.hash(data: all).prefix(6)))
    }

    /// Files of another version, requested from another release, are not cacheable.
    func response(_ name: String, version: String) throws(Problem) -> Response {
        guard let bytes = files[name] else { throw Problem(.noSuchRoute, "The file does not exist.") }
        let isCurrent = address.hasSuffix("/" + version)
        return Response(
            fields: [
                .contentType: Self.type(of: name),
                .cacheControl: isCurrent ? "public, max-age=31536000, immutable" : "no-store",
            ],
            body: .bytes(bytes)
        )
    }

    static func type(of name: String) -> String {
        switch name.split(separator: ".").last {
        case "css": "text/css; charset=utf-8"
        case "js": "text/javascript; charset=utf-8"
        case "svg": "image/svg+xml"
        default: "application/octet-stream"
        }
    }
}
