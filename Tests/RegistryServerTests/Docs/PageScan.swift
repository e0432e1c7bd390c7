/// The elements of an HTML page, scalar by scalar as browsers read it. Strict: every element must be closed.
struct PageScan {
    struct Element {
        let name: String
        let attributes: [String: String]
    }

    private(set) var elements: [Element] = []
    private(set) var faults: [String] = []
    private var open: [String] = []
    private static var tag: Regex<(Substring, Substring, Substring, Substring)> {
        /([a-z][a-z0-9]*)((?:\s+[a-zA-Z0-9-]+(?:="[^"<]*")?)*)\s*(\/?)/.matchingSemantics(.unicodeScalar)
    }
    private static var attribute: Regex<(Substring, Substring, Substring?)> {
        /([a-zA-Z0-9-]+)(?:="([^"]*)")?/.matchingSemantics(.unicodeScalar)
    }
    private static let void: Set<String> = ["meta", "link", "img", "hr", "br", "input", "wbr"]

    init(_ text: String) {
        var rest = text.unicodeScalars[...]
        while let start = rest.firstIndex(of: "<") {
            check(text: Substring(rest[..<start]))
            rest = rest[start...].dropFirst()
            guard let end = rest.firstIndex(of: ">") else {
                faults.append("a tag has no end: \(rest.prefix(40))")
                return
            }
            take(tag: Substring(rest[..<end]))
            rest = rest[rest.index(after: end)...]
        }
        faults += open.map { "<\($0)> is not closed" }
        let ids = elements.compactMap { $0.attributes["id"] }
        faults += Dictionary(grouping: ids) { $0 }.filter { $1.count > 1 }.map { "the id \($0.key) is there twice" }
    }

    private mutating func check(text: Substring) {
        if text.unicodeScalars.contains(">") { faults.append("a > stands alone: \(text.suffix(40))") }
        let ampersand = /&(?!(?:amp|lt|gt|quot|#39);)/.matchingSemantics(.unicodeScalar)
        for match in text.matches(of: ampersand) {
            faults.append("an & stands alone: \(text[match.range.lowerBound...].prefix(20))")
        }
    }

    private mutating func take(tag: Substring) {
        if tag.hasPrefix("!") { return }
        if tag.hasPrefix("/") {
            let name = String(tag.dropFirst())
            if open.last == name {
                open.removeLast()
            } else {
                faults.append("</\(name)> closes \(open.last ?? "nothing")")
            }
            return
        }
        guard let match = tag.wholeMatch(of: Self.tag) else {
            faults.append("this is no tag: <\(tag.prefix(60))>")
            return
        }
        let name = String(match.1)
        let pairs = match.2.matches(of: Self.attribute).map { (String($0.1), String($0.2 ?? "")) }
        elements.append(Element(name: name, attributes: Dictionary(pairs) { first, _ in first }))
        if !Self.void.contains(name), match.3.isEmpty { open.append(name) }
    }

    var addresses: [String] { elements.flatMap { [$0.attributes["href"], $0.attributes["src"]] }.compactMap(\.self) }
    var ids: Set<String> { Set(elements.compactMap { $0.attributes["id"] }) }
}
