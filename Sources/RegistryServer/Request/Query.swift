import RegistryCore

struct Query: Sendable, Hashable {
    private struct Parameter: Sendable, Hashable {
        let name: UTF8Text
        let value: String
    }

    private let parameters: [Parameter]

    /// Above every call's number of parameters.
    static let most = 64

    /// - Throws: `malformed-path` for bad escapes, invalid UTF-8, and more than ``most`` parameters.
    init(_ raw: Substring) throws(Problem) {
        // Splits bytes, because comparing characters is far slower and the caller is not authenticated yet.
        let pairs = raw.utf8.split(separator: UInt8(ascii: "&"), maxSplits: Self.most)
        guard pairs.count <= Self.most else {
            throw Problem(.malformedPath, "The query has more than \(Self.most) parameters. Send fewer.")
        }
        parameters = try pairs.map { (pair) throws(Problem) in
            let name = pair.prefix { $0 != UInt8(ascii: "=") }
            return Parameter(
                name: UTF8Text(try RequestTarget.decode(Substring(name))),
                value: try RequestTarget.decode(Substring(pair[name.endIndex...].dropFirst()))
            )
        }
    }

    subscript(name: String) -> [String] { parameters.filter { $0.name == UTF8Text(name) }.map(\.value) }
}
