/// A fixed statement with named parameters, from a query file.
///
/// ```swift
/// extension Query { static let lockActivities: Query = "activities.lock" }
/// let results = try session.pipeline([Query.lockActivities(["scope": scope.id, "ids": ids])])
/// ```
/// The server infers each parameter's type, and the value must have that type's binary format: `Int` for bigint,
/// `String` for text. If the server would infer another type, the query casts from the bound type:
/// `:environment::text::apns_environment`.
package struct Query: Sendable {
    /// Also the name of the prepared statement, so no other query has it.
    package let name: String
    /// The text sent to the server, with `$1`, `$2`, … in place of names.
    package let text: String
    /// The names of `$1`, `$2`, … in order.
    package let parameters: [String]

    /// A missing, unknown or repeated name is a programming error.
    package func callAsFunction(_ values: QueryValues = [:]) -> SQL {
        let given = values.elements
        var bound: [PostgresParameter] = []
        bound.reserveCapacity(parameters.count)
        for (index, name) in parameters.enumerated() {
            let isInOrder = index < given.count && given[index].0 == name
            guard let place = isInOrder ? index : given.firstIndex(where: { $0.0 == name }) else { break }
            bound.append(PostgresParameter(given[place].1))
        }
        guard bound.count == parameters.count, given.count == parameters.count else {
            preconditionFailure(bindingFault(of: given.map(\.0)) ?? "")
        }
        return SQL(text: text, parameters: bound, query: name)
    }

    func bindingFault(of names: [String]) -> String? {
        for (index, name) in names.enumerated() {
            if names[..<index].contains(name) { return "the query \(self.name) got the parameter \(name) twice" }
            if !parameters.contains(name) { return "the query \(self.name) has no parameter \(name)" }
        }
        return parameters.first { !names.contains($0) }.map { "the query \(name) did not get the parameter \($0)" }
    }

    /// A query begins with the line `-- name: subject.verb-object` and ends with a semicolon. Comments are removed.
    /// Each `:name` becomes `$1`, `$2`, …; a repeated name keeps its number.
    ///
    /// - Parameters:
    ///   - file: the content of `SUBJECT.sql`.
    ///   - subject: the first word of every name.
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

/// Parameter values by name, as a dictionary literal. Fastest in the order of the query's text.
package struct QueryValues: Sendable, ExpressibleByDictionaryLiteral {
    let elements: [(String, any PostgresEncodable)]

    package init(dictionaryLiteral elements: (String, any PostgresEncodable)...) { self.elements = elements }

    private init(elements: [(String, any PostgresEncodable)]) { self.elements = elements }

    package static func + (left: QueryValues, right: QueryValues) -> QueryValues {
        QueryValues(elements: left.elements + right.elements)
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
