import RegistryCore

/// The kinds of row that an export goes through, in its order.
package enum ExportPart: String, Sendable, Hashable, CaseIterable {
    case installations
    case activities
    /// Ends under a `liveactivityId`.
    case names
    /// Tokens of installations, kind by kind.
    case tokens

    /// The kinds whose tokens it has, in its order; none where its rows have no numbers.
    var kinds: [TokenKind] {
        switch self {
        case .activities: [.update]
        case .tokens: TokenKind.all.filter { $0 != .update }
        case .installations, .names: []
        }
    }

    /// The one that follows; nil after the last.
    var next: ExportPart? { Self.allCases.drop { $0 != self }.dropFirst().first }
}

/// How far an export has come.
package struct ExportPosition: Sendable, Hashable {
    /// The kind of row that comes next.
    package let part: ExportPart
    /// The key of the last row that was looked at, of numbered rows the kind and the number; empty before the first.
    package let after: [UTF8Text]

    /// Makes a position of its two parts.
    package init(part: ExportPart, after: [UTF8Text]) {
        self.part = part
        self.after = after
    }

    /// Before the first row.
    package static let start = ExportPosition(part: .installations, after: [])
}

/// A page of an export: all that is to be said of some rows, each read as it was at one moment.
package struct ExportPage: Sendable {
    /// The records of the page's rows; a row may have several.
    package let records: [TransferRecord]
    /// Where the next page begins; nil after the last.
    package let next: ExportPosition?
    /// How much of the part is done, 0 to 1; nil where nobody knows.
    package let progress: Double?
}
