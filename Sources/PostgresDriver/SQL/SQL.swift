/// A statement literal with interpolations as bound parameters.
///
/// ```swift
/// let statement: SQL = "SELECT name FROM app WHERE id = \(id)" // text: … WHERE id = $1
/// ```
/// `\(unescaped:)` inserts text unchanged; `\(sql:)` inserts another statement with its parameters. The text is the key
/// of the prepared statement, so it must not contain varying values.
public struct SQL: Sendable, ExpressibleByStringInterpolation {
    /// Contains `$1`, `$2`, … for the parameters.
    public let text: String
    /// The values of `$1`, `$2`, … in order.
    public let parameters: [PostgresParameter]
    /// The text around the parameters, one more than parameters.
    let pieces: [String]
    /// Nil for a statement that is compared by its text.
    let identity: Identity?

    /// The shared part of a query's statements, which are prepared once.
    final class Identity: Sendable {
        let text: String
        let pieces: [String]
        /// Empty if the server infers the types.
        let types: [UInt32]

        init(text: String, pieces: [String], types: [UInt32]) {
            self.text = text
            self.pieces = pieces
            self.types = types
        }
    }

    init(_ identity: Identity, _ parameters: [PostgresParameter]) {
        text = identity.text
        pieces = identity.pieces
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

    /// Makes a statement without parameters.
    public init(stringLiteral value: String) {
        self.init(pieces: [value], parameters: [])
    }

    /// Makes a statement with the interpolated values as parameters.
    public init(stringInterpolation: StringInterpolation) {
        self.init(pieces: stringInterpolation.pieces, parameters: stringInterpolation.parameters)
    }

    /// Collects a literal's pieces and parameters.
    public struct StringInterpolation: StringInterpolationProtocol {
        var pieces = [""]
        var parameters: [PostgresParameter] = []

        /// Reserves room for the interpolations.
        public init(literalCapacity: Int, interpolationCount: Int) {
            pieces.reserveCapacity(interpolationCount + 1)
            parameters.reserveCapacity(interpolationCount)
        }

        /// Appends a piece of the text.
        public mutating func appendLiteral(_ literal: String) {
            pieces[pieces.count - 1] += literal
        }

        /// Binds a value as the next parameter.
        public mutating func appendInterpolation<Value: PostgresEncodable>(_ value: Value) {
            parameters.append(PostgresParameter(value))
            pieces.append("")
        }

        /// Without this method the compiler warns about optionals.
        public mutating func appendInterpolation<Value: PostgresEncodable>(_ value: Value?) {
            parameters.append(PostgresParameter(value))
            pieces.append("")
        }

        /// Inserts text unchanged. Use it for identifiers and keywords, never for input.
        public mutating func appendInterpolation(unescaped text: String) {
            pieces[pieces.count - 1] += text
        }

        /// Inserts another statement and renumbers its parameters.
        public mutating func appendInterpolation(sql: SQL) {
            precondition(sql.pieces.count == sql.parameters.count + 1, "a query cannot be part of another statement")
            pieces[pieces.count - 1] += sql.pieces[0]
            pieces.append(contentsOf: sql.pieces.dropFirst())
            parameters.append(contentsOf: sql.parameters)
        }
    }
}

/// A bound value in Postgres's binary format.
public struct PostgresParameter: Sendable, Hashable {
    /// The parameter's declared type.
    public let type: PostgresType
    /// Nil is NULL.
    @usableFromInline
    let bytes: [UInt8]?

    /// Encodes a value.
    @inlinable
    public init<Value: PostgresEncodable>(_ value: Value) {
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
