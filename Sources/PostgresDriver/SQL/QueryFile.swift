extension Query {
    /// A query begins with the line `-- name: subject.verb-object` and ends with a semicolon. Comments are removed.
    /// Each `:name` becomes `$1`, `$2`, …; a repeated name keeps its number.
    ///
    /// - Parameters:
    ///   - file: the content of `SUBJECT.sql`.
    ///   - subject: the first word of every name.
    /// - Throws: ``PostgresError/Code/misuse``, with the query's name.
    package static func parse(_ file: String, subject: String) throws(PostgresError) -> [Query] {
        var sections: [(name: String, body: String)] = []
        for line in file.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.hasPrefix(nameMark) {
                sections.append((String(line.dropFirst(nameMark.count)), ""))
            } else if !sections.isEmpty {
                sections[sections.count - 1].body += line + "\n"
            } else if !line.isEmpty, !line.hasPrefix("--") {
                throw fault(subject, "the text before the first query is not a comment")
            }
        }
        guard !sections.isEmpty else { throw fault(subject, "the file has no query") }
        var queries: [Query] = []
        for (name, body) in sections {
            guard name.wholeMatch(of: /[a-z]+(-[a-z]+)*\.[a-z]+(-[a-z0-9]+)*/) != nil, name.hasPrefix(subject + ".")
            else {
                throw fault(name, "the name is not \(subject).verb-object")
            }
            var reader = QueryReader(body)
            if let detail = reader.read() { throw fault(name, detail) }
            let text = String(decoding: reader.text, as: UTF8.self)
            queries.append(Query(name: name, text: text, parameters: reader.parameters))
        }
        return queries
    }

    private static let nameMark = "-- name: "

    private static func fault(_ name: String, _ detail: String) -> PostgresError {
        PostgresError(.misuse, "query \(name): \(detail)")
    }
}

private struct QueryReader {
    private var rest: ArraySlice<UInt8>
    private(set) var text: [UInt8] = []
    private(set) var parameters: [String] = []

    init(_ body: String) { rest = Array(body.utf8)[...] }

    mutating func read() -> String? {
        var semicolons = 0
        while let byte = rest.first {
            let next = rest.dropFirst().first ?? 0
            switch Character(Unicode.Scalar(byte)) {
            case "-" where next == byte: dropComment()
            case ":" where next == byte: take(2)
            case ":" where Self.isLetter(next): takeParameter()
            case "$": return "a parameter is written :name, not $1"
            case "'", "\"":
                guard let end = rest.dropFirst().firstIndex(of: byte) else { return "a quotation has no end" }
                take(end - rest.startIndex + 1)
            case ";":
                semicolons += 1
                take(1)
            default: take(1)
            }
        }
        while text.last.map(Self.isSpace) == true { text.removeLast() }
        guard semicolons == 1, text.popLast() == UInt8(ascii: ";") else {
            return "the only semicolon is not at the end"
        }
        return text.isEmpty ? "the query is empty" : nil
    }

    private mutating func take(_ count: Int) {
        text += rest.prefix(count)
        rest.removeFirst(count)
    }

    /// Also drops the spaces before it, and the line if otherwise empty.
    private mutating func dropComment() {
        rest = rest.drop { $0 != UInt8(ascii: "\n") }
        while text.last == UInt8(ascii: " ") { text.removeLast() }
        if text.isEmpty || text.last == UInt8(ascii: "\n") { rest = rest.dropFirst() }
    }

    private mutating func takeParameter() {
        let word = rest.dropFirst().prefix { Self.isLetter($0) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        rest = rest[word.endIndex...]
        let name = String(decoding: word, as: UTF8.self)
        if !parameters.contains(name) { parameters.append(name) }
        text += "$\((parameters.firstIndex(of: name) ?? 0) + 1)".utf8
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "_") || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\n") }
}
