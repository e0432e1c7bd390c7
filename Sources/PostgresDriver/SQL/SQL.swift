/// A statement written as a string literal whose interpolations become bound parameters.
///
/// ```swift
/// let statement: SQL = "SELECT name FROM app WHERE id = \(id)"  // text: … WHERE id = $1
/// ```
/// `\(unescaped:)` puts text into the statement as it is; `\(sql:)` inserts another statement with its parameters.
/// The text is the key of the prepared statement, so it must not hold values that vary.
public struct SQL: Sendable, ExpressibleByStringInterpolation {
    /// Contains `$1`, `$2`, … for the parameters.
    public let text: String
    /// The values of `$1`, `$2`, … in order.
    public let parameters: [PostgresParameter]
    /// The text around the parameters: one piece more than parameters.
    let pieces: [String]
    /// Nil for a statement that is compared by its text.
    let identity: Identity?

    /// The shared part of all statements of a query, which are prepared once, whatever the values are.
    final class Identity: Sendable {
        let text: String
        let pieces: [String]
        /// Empty if the server infers them.
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

    /// Makes a statement whose interpolated values are its parameters.
    public init(stringInterpolation: StringInterpolation) {
        self.init(pieces: stringInterpolation.pieces, parameters: stringInterpolation.parameters)
    }

    /// Collects the pieces and the parameters of a literal.
    public struct StringInterpolation: StringInterpolationProtocol {
        var pieces = [""]
        var parameters: [PostgresParameter] = []

        /// Makes an empty collection with room for the literal's interpolations.
        public init(literalCapacity: Int, interpolationCount: Int) {
            pieces.reserveCapacity(interpolationCount + 1)
            parameters.reserveCapacity(interpolationCount)
        }

        /// Appends a piece of the literal to the statement's text.
        public mutating func appendLiteral(_ literal: String) {
            pieces[pieces.count - 1] += literal
        }

        /// Binds a value as the next parameter.
        public mutating func appendInterpolation<Value: PostgresEncodable>(_ value: Value) {
            parameters.append(PostgresParameter(value))
            pieces.append("")
        }

        /// The compiler warns about optionals without this method.
        public mutating func appendInterpolation<Value: PostgresEncodable>(_ value: Value?) {
            parameters.append(PostgresParameter(value))
            pieces.append("")
        }

        /// Inserts text unchanged: for identifiers and keywords of our own, never for input.
        public mutating func appendInterpolation(unescaped text: String) {
            pieces[pieces.count - 1] += text
        }

        /// Inserts another statement; its parameters are renumbered after the previous ones.
        public mutating func appendInterpolation(sql: SQL) {
            precondition(sql.pieces.count == sql.parameters.count + 1, "a query is no part of another statement")
            pieces[pieces.count - 1] += sql.pieces[0]
            pieces.append(contentsOf: sql.pieces.dropFirst())
            parameters.append(contentsOf: sql.parameters)
        }
    }
}

/// A value that is bound to a statement, in Postgres's binary format.
public struct PostgresParameter: Sendable, Hashable {
    /// The declared type of the parameter.
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
