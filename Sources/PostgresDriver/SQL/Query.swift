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
            preconditionFailure("the query \(name) has the parameters \(parameters), but got \(given.map(\.0))")
        }
        return SQL(text: text, parameters: bound, query: name)
    }

    /// A query begins with the line `-- name: subject.verb-object` and ends with a semicolon. Comments have their own
    /// lines and are removed. Each `:name` becomes `$1`, `$2`, …; a repeated name keeps its number. Quotations must not
    /// contain a name.
    package static func parse(_ file: String) -> [Query] {
        let sections = ("\n" + file).split(separator: "\n-- name: ", omittingEmptySubsequences: false)
        return sections.dropFirst().map { section in
            let lines = section.split(separator: "\n")
            let code = lines.dropFirst().filter { !$0.trimmingPrefix(while: \.isWhitespace).hasPrefix("--") }
                .joined(separator: "\n")
            // The first part of a cast, `::type`, is empty.
            let parts = code.dropLast(code.hasSuffix(";") ? 1 : 0)
                .split(separator: ":", omittingEmptySubsequences: false)
            var text = String(parts[0])
            var parameters: [String] = []
            for (before, part) in zip(parts, parts.dropFirst()) {
                let name = String(part.prefix { $0.isLetter || $0.isNumber || $0 == "_" })
                guard !before.isEmpty, name.first?.isLetter == true else {
                    text += ":\(part)"
                    continue
                }
                if !parameters.contains(name) { parameters.append(name) }
                text += "$\((parameters.firstIndex(of: name) ?? 0) + 1)\(part.dropFirst(name.count))"
            }
            return Query(name: String(lines[0]), text: text, parameters: parameters)
        }
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
