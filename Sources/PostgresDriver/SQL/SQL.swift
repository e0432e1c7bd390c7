/// A statement literal with interpolations as bound parameters.
///
/// ```swift
/// let statement: SQL = "SELECT name FROM app WHERE id = \(id)" // text: … WHERE id = $1
/// ```
/// `\(unescaped:)` inserts text unchanged; `\(sql:)` inserts another statement with its parameters. The text is the key
/// of the prepared statement, so it must not contain varying values.
package struct SQL: Sendable, ExpressibleByStringInterpolation {
    /// Contains `$1`, `$2`, … for the parameters.
    package let text: String
    package let parameters: [PostgresParameter]
    /// The text around the parameters, one more than parameters. Empty for a query.
    let pieces: [String]
    /// Nil for a statement that is compared by its text.
    let identity: Identity?

    /// The shared part of a query's statements, which are prepared once. The server infers the parameters' types.
    final class Identity: Sendable {
        let name: String
        let text: String

        init(name: String, text: String) { (self.name, self.text) = (name, text) }
    }

    init(_ identity: Identity, _ parameters: [PostgresParameter]) {
        text = identity.text
        pieces = []
        self.parameters = parameters
        self.identity = identity
    }

    private init(pieces: [String], parameters: [PostgresParameter]) {
        self.pieces = pieces
        self.parameters = parameters
        identity = nil
        var text = pieces[0]
        for (index, piece) in pieces.dropFirst().enumerated() {
            text += "$\(index + 1)"
            text += piece
        }
        self.text = text
    }

    package init(stringLiteral value: String) { self.init(pieces: [value], parameters: []) }

    package init(stringInterpolation: StringInterpolation) {
        self.init(pieces: stringInterpolation.pieces, parameters: stringInterpolation.parameters)
    }

    package struct StringInterpolation: StringInterpolationProtocol {
        var pieces = [""]
        var parameters: [PostgresParameter] = []

        package init(literalCapacity: Int, interpolationCount: Int) {
            pieces.reserveCapacity(interpolationCount + 1)
            parameters.reserveCapacity(interpolationCount)
        }

        package mutating func appendLiteral(_ literal: String) { pieces[pieces.count - 1] += literal }

        package mutating func appendInterpolation<Value: PostgresEncodable>(_ value: Value) {
            parameters.append(PostgresParameter(value))
            pieces.append("")
        }

        /// Without this method the compiler warns about optionals.
        package mutating func appendInterpolation<Value: PostgresEncodable>(_ value: Value?) {
            parameters.append(PostgresParameter(value))
            pieces.append("")
        }

        /// Inserts text unchanged. Use it for identifiers and keywords, never for input.
        package mutating func appendInterpolation(unescaped text: String) { pieces[pieces.count - 1] += text }

        package mutating func appendInterpolation(sql: SQL) {
            precondition(sql.pieces.count == sql.parameters.count + 1, "a query cannot be part of another statement")
            pieces[pieces.count - 1] += sql.pieces[0]
            pieces.append(contentsOf: sql.pieces.dropFirst())
            parameters.append(contentsOf: sql.parameters)
        }
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
