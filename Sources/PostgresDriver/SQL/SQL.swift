/// A statement with bound parameters.
///
/// ```swift
/// let statement: SQL = "SELECT name FROM app WHERE id = \(id)" // text: … WHERE id = $1
/// ```
/// The server parses a literal each time. Frequent statements are queries, which are prepared once per connection.
package struct SQL: Sendable {
    /// Contains `$1`, `$2`, … for the parameters.
    package let text: String
    package let parameters: [PostgresParameter]
    /// The name of the query; nil for a literal. The server infers the types of a query's parameters.
    let query: String?
}

extension SQL: ExpressibleByStringInterpolation {
    package init(stringLiteral value: String) { self.init(text: value, parameters: [], query: nil) }

    package init(stringInterpolation: StringInterpolation) {
        self.init(text: stringInterpolation.text, parameters: stringInterpolation.parameters, query: nil)
    }

    package struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var text = ""
        fileprivate var parameters: [PostgresParameter] = []

        package init(literalCapacity: Int, interpolationCount: Int) {
            text.reserveCapacity(literalCapacity + 3 * interpolationCount)
        }

        package mutating func appendLiteral(_ literal: String) { text += literal }

        package mutating func appendInterpolation<Value: PostgresEncodable>(_ value: Value) {
            parameters.append(PostgresParameter(value))
            text += "$\(parameters.count)"
        }

        /// Without this method the compiler warns about optionals.
        package mutating func appendInterpolation<Value: PostgresEncodable>(_ value: Value?) {
            parameters.append(PostgresParameter(value))
            text += "$\(parameters.count)"
        }

        /// Inserts text unchanged. Use it for identifiers and keywords, never for input.
        package mutating func appendInterpolation(unescaped text: String) { self.text += text }
    }
}

/// A bound value in Postgres's binary format.
package struct PostgresParameter: Sendable, Hashable {
    @usableFromInline package let type: PostgresType
    /// Nil is NULL.
    @usableFromInline let bytes: [UInt8]?

    @inlinable
    package init<Value: PostgresEncodable>(_ value: Value) {
        type = Value.postgresType
        guard !value.isPostgresNull else {
            bytes = nil
            return
        }
        var buffer: [UInt8] = []
        value.encode(into: &buffer)
        bytes = buffer
    }
}
