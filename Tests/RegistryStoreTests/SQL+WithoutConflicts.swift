import Foundation

@testable import PostgresDriver

extension SQL {
    /// The statement as it would be if nobody had thought of two rows with one key. What is left out has no parameters.
    var withoutConflicts: SQL {
        var texts = SQL.StringInterpolation(literalCapacity: 0, interpolationCount: parameters.count)
        texts.pieces = pieces.map(Self.withoutConflicts)
        texts.parameters = parameters
        return SQL(stringInterpolation: texts)
    }

    private static func withoutConflicts(_ piece: String) -> String {
        guard let start = piece.range(of: "ON CONFLICT"), let end = piece.range(of: "RETURNING") else { return piece }
        return String(piece[..<start.lowerBound]) + String(piece[end.lowerBound...])
    }
}
