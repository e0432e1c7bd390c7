import RegistryCore

/// The parameters of a query, decoded, in the order in which they came.
struct Query: Sendable, Hashable {
    private struct Parameter: Sendable, Hashable {
        let name: String
        let value: String
    }

    private let parameters: [Parameter]

    /// - Throws: `malformed-path` for bad escapes and bytes that are not UTF-8.
    init(_ raw: Substring) throws(Problem) {
        parameters = try raw.split(separator: "&").map { (pair) throws(Problem) in
            let halves = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            return Parameter(
                name: try RequestTarget.decode(halves[0]),
                value: halves.count > 1 ? try RequestTarget.decode(halves[1]) : ""
            )
        }
    }

    /// All values given for a name.
    subscript(name: String) -> [String] { parameters.filter { $0.name == name }.map(\.value) }
}
