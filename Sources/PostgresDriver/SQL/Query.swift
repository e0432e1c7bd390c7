/// A statement of fixed text with named parameters, from a file of queries.
///
/// ```swift
/// extension Query { static let lockActivities: Query = "activities.lock" }
/// let results = try session.pipeline([Query.lockActivities(["scope": scope.id, "ids": ids])])
/// ```
/// The server infers the type of each parameter, and each value must have the binary format of that type: `Int` that
/// of bigint, `String` that of text. Where the server would infer another type, the query casts from the type that
/// Swift binds: `:environment::text::apns_environment`.
package struct Query: Sendable {
    /// The subject and the task, such as `resolve.page`.
    package let name: String
    /// The names of `$1`, `$2`, … in order.
    package let parameters: [String]
    /// The text as it is sent, with `$1`, `$2`, … in place of the names.
    package var text: String { identity.text }
    private let identity: SQL.Identity

    init(name: String, text: String, parameters: [String]) {
        self.name = name
        self.parameters = parameters
        identity = SQL.Identity(text: text, pieces: [text], types: [])
    }

    /// Binds a value to each parameter. A name that is missing, unknown or repeated is a programming error.
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
        return SQL(identity, bound)
    }

    /// The first fault of names that are bound; nil if there is none.
    func bindingFault(of names: [String]) -> String? {
        for (index, name) in names.enumerated() {
            if names[..<index].contains(name) { return "the query \(self.name) is given its parameter \(name) twice" }
            if !parameters.contains(name) { return "the query \(self.name) has no parameter \(name)" }
        }
        return parameters.first { !names.contains($0) }.map { "the query \(name) lacks its parameter \($0)" }
    }
}

/// The values of a query's parameters by name, as a dictionary literal. The order of the query's text is the fastest.
package struct QueryValues: Sendable, ExpressibleByDictionaryLiteral {
    let elements: [(String, any PostgresEncodable)]

    package init(dictionaryLiteral elements: (String, any PostgresEncodable)...) {
        self.elements = elements
    }

    private init(elements: [(String, any PostgresEncodable)]) {
        self.elements = elements
    }

    package static func + (left: QueryValues, right: QueryValues) -> QueryValues {
        QueryValues(elements: left.elements + right.elements)
    }
}
