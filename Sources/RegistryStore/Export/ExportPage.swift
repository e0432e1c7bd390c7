import RegistryCore

package enum ExportPart: String, Sendable, Hashable, CaseIterable {
    case installations
    case activities
    /// Ends under a `liveactivityId`.
    case names
    /// Tokens of installations, kind by kind.
    case tokens

    /// In the order of the export; empty if the rows have no numbers.
    var kinds: [TokenKind] {
        switch self {
        case .activities: [.update]
        case .tokens: TokenKind.all.filter { $0 != .update }
        case .installations, .names: []
        }
    }

    var next: ExportPart? { Self.allCases.drop { $0 != self }.dropFirst().first }
}

package struct ExportPosition: Sendable, Hashable {
    package let part: ExportPart
    /// The key of the last row read; for numbered rows, the kind and the number. Empty before the first.
    package let after: [UTF8Text]

    package init(part: ExportPart, after: [UTF8Text]) {
        self.part = part
        self.after = after
    }

    package static let start = ExportPosition(part: .installations, after: [])
}

/// Each row is read as of one moment.
package struct ExportPage: Sendable {
    /// A row may have several records.
    package let records: [TransferRecord]
    /// Nil for the last page.
    package let next: ExportPosition?
    /// The finished share of the part, 0 to 1; nil if unknown.
    package let progress: Double?
}
