/// A statement whose text is built once and bound to new values each time, for frequent statements.
///
/// It is made from a sample, a statement built in the usual way from distinct values, so that each parameter's value
/// identifies it.
public struct SQLTemplate: Sendable {
    private let identity: SQL.Identity
    /// The index of the value in each parameter.
    public let places: [Int]
    /// The statement's text, with `$1`, `$2`, … for its parameters.
    public var text: String { identity.text }
    /// The declared types of the parameters.
    public var types: [PostgresType] { identity.types.map(PostgresType.init(rawValue:)) }

    /// - Parameters:
    ///   - sample: a statement of the sample's values.
    ///   - values: the sample's values, in the order of the values for ``bind(_:)``.
    ///
    /// A parameter that matches none of the values, or two of them, is a programming error.
    public init(_ sample: SQL, values: [PostgresParameter]) {
        places = sample.parameters.map { parameter in
            let found = values.indices.filter { values[$0] == parameter }
            precondition(
                found.count == 1,
                "\(found.count) values of the template's are a parameter's of: \(sample.text)"
            )
            return found[0]
        }
        let types = sample.parameters.map(\.type.rawValue)
        identity = SQL.Identity(text: sample.text, pieces: sample.pieces, types: types)
    }

    /// The values have the same number, order and types as the sample's.
    public func bind(_ values: [PostgresParameter]) -> SQL {
        SQL(identity, places.map { values[$0] })
    }
}
