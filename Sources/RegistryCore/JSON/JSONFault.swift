package struct JSONFault: Sendable, Hashable, JSONObjectEncodable {
    /// An RFC 6901 pointer into the body, such as `/reports/3/token`. Empty for the body itself.
    package let pointer: String
    package let detail: String

    package init(pointer: String, detail: String) { (self.pointer, self.detail) = (pointer, detail) }

    package func writeMembers(to json: inout JSONWriter) {
        json.member("pointer", pointer)
        json.member("detail", detail)
    }
}

package struct JSONFaultReason: Error, Sendable, Hashable, CustomStringConvertible {
    /// A predicate without position, such as "must be a string". It never contains secrets.
    package let detail: String
    package init(_ detail: String) { self.detail = detail }
    package var description: String { detail }
}

/// The position of a value in a body: an RFC 6901 pointer, formatted only on demand.
struct JSONPointer: Sendable {
    private let base: String
    private let index: Int?
    static let body = JSONPointer(base: "", index: nil)

    /// Shorter than a token, longer than the names of members.
    private static let longestKey = 63

    /// Such as `/reports/3/token`. Empty for the body.
    var text: String { index.map { "\(base)/\($0)" } ?? base }

    /// The pointer of a member, with `~` and `/` of its key escaped.
    ///
    /// A key longer than `longestKey` is not quoted, because it can be a misplaced token. The pointer is then that
    /// object's own.
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

    /// Bodies have thousands of elements. Only faulty ones need the text.
    func element(_ index: Int) -> JSONPointer { JSONPointer(base: text, index: index) }
}
