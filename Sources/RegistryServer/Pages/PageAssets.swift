import Crypto
import HTTPTypes
import RegistryCore

/// The files that pages load, below an address that names their content, so that browsers may keep them for ever.
struct PageAssets: Sendable {
    private let files: [String: [UInt8]]
    /// Where they are, such as `/docs/assets/9f1c2d3e4b5a`.
    let address: String

    /// - Parameters:
    ///   - base: the path that the version is added to.
    ///   - files: style sheets, scripts and drawings, by their names.
    init(below base: String, _ files: [String: [UInt8]]) {
        self.files = files
        let all = files.sorted { $0.key < $1.key }.flatMap(\.value)
        address = base + "/" + Hexadecimal.encode(Array(SHA256.hash(data: all).prefix(6)))
    }

    /// The answer that is a file. Of another version, as instances of another release have it, it may not be kept.
    ///
    /// - Throws: `no-such-route` for a file that there is not.
    func answer(_ name: String, version: String) throws(Problem) -> Answer {
        guard let bytes = files[name] else { throw Problem(.noSuchRoute, "There is no such file.") }
        let isCurrent = address.hasSuffix("/" + version)
        return Answer(
            fields: [
                .contentType: Self.type(of: name),
                .cacheControl: isCurrent ? "public, max-age=31536000, immutable" : "no-store",
            ],
            body: .bytes(bytes)
        )
    }

    /// The media type that goes with a file's name.
    static func type(of name: String) -> String {
        switch name.split(separator: ".").last {
        case "css": "text/css; charset=utf-8"
        case "js": "text/javascript; charset=utf-8"
        case "svg": "image/svg+xml"
        default: "application/octet-stream"
        }
    }
}
