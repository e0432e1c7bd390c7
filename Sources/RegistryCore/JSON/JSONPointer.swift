/// The position of a value in a body: an RFC 6901 pointer, formatted only on demand.
struct JSONPointer: Sendable {
    private let base: String
    private let index: Int?
    static let body = JSONPointer(base: "", index: nil)

    /// No member of ours has a longer key.
    private static let longestKey = 64

    /// Such as `/reports/3/token`; empty for the body.
    var text: String { index.map { "\(base)/\($0)" } ?? base }

    /// The pointer of a member; `~` and `/` in its key are escaped.
    ///
    /// A key longer than any of ours is not repeated, for it may be a token in the wrong place: the pointer then is that
    /// of the object.
    func member(_ key: String) -> JSONPointer {
        guard key.utf8.count <= Self.longestKey else { return self }
        var path = text + "/"
        for scalar in key.unicodeScalars {
            switch scalar {
            case "~": path += "~0"
            case "/": path += "~1"
            default: path.unicodeScalars.append(scalar)
            }
        }
        return JSONPointer(base: path, index: nil)
    }

    /// Bodies have thousands of elements, and only faulty ones need the text.
    func element(_ index: Int) -> JSONPointer { JSONPointer(base: text, index: index) }
}
