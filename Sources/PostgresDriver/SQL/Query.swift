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
    package var name: String { identity.name }
    /// The names of `$1`, `$2`, … in order.
    package let parameters: [String]
    /// The text sent to the server, with `$1`, `$2`, … in place of names.
    package var text: String { identity.text }
    private let identity: SQL.Identity

    init(name: String, text: String, parameters: [String]) {
        self.parameters = parameters
        identity = SQL.Identity(name: name, text: text)
    }

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
        return SQL(identity, bound)
    }

    func bindingFault(of names: [String]) -> String? {
        for (index, name) in names.enumerated() {
            if names[..<index].contains(name) { return "the query \(self.name) got the parameter \(name) twice" }
            if !parameters.contains(name) { return "the query \(self.name) has no parameter \(name)" }
        }
        return parameters.first { !names.contains($0) }.map { "the query \(name) did not get the parameter \($0)" }
    }
}

/// Parameter values by name, as a dictionary literal. Fastest in the order of the query's text.
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
