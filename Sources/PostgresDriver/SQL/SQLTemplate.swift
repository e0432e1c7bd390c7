/// A statement whose text is made once, and bound to new values each time: for those that are sent so often that the making
/// of their text would be felt.
///
/// It is made from a sample, a statement built in the usual way from values that are all different, so that each parameter
/// tells by its value what it stands for.
public struct SQLTemplate: Sendable {
    /// The part that is the same for all statements of a template, and by which they are known.
    final class Identity: Sendable {
        let text: String
        let pieces: [String]
        let types: [UInt32]

        init(_ sample: SQL) {
            text = sample.text
            pieces = sample.pieces
            types = sample.parameters.map(\.type.rawValue)
        }
    }

    private let identity: Identity
    /// Which of the values goes into each parameter.
    public let places: [Int]
    /// The statement's text, with `$1`, `$2`, … for its parameters.
    public var text: String { identity.text }
    /// The declared types of the parameters.
    public var types: [PostgresType] { identity.types.map(PostgresType.init(rawValue:)) }

    /// - Parameters:
    ///   - sample: a statement of the sample's values.
    ///   - values: the sample's values, in the order in which ``bind(_:)`` takes others.
    ///
    /// A parameter that holds none of the values, or what two of them are, is a programming error.
    public init(_ sample: SQL, values: [PostgresParameter]) {
        places = sample.parameters.map { parameter in
            let found = values.indices.filter { values[$0] == parameter }
            precondition(
                found.count == 1,
                "\(found.count) values of the template's are a parameter's of: \(sample.text)"
            )
            return found[0]
        }
        identity = Identity(sample)
    }

    /// The statement with other values, of the same number, order and types as the sample's.
    public func bind(_ values: [PostgresParameter]) -> SQL {
        SQL(identity, places.map { values[$0] })
    }
}
