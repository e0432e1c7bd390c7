import RegistryCore

package enum ExportPart: String, Sendable, Hashable, CaseIterable {
    case installations
    case activities
    /// Ends under a `liveactivityId`.
    case names
    case tokens

    /// In the order of the export; empty if the rows have no numbers.
    func kinds(of app: App) -> [TokenKind] {
        switch self {
        case .activities: [.update]
        case .tokens: app.settings.allTokenKinds.filter { $0 != .update }
        case .installations, .names: []
        }
    }

    var next: ExportPart? { Self.allCases.drop { $0 != self }.dropFirst().first }
}

package struct ExportPosition: Sendable, Hashable {
    package let part: ExportPart
    /// The key of the last row read, or kind and number for numbered rows. Empty at the start.
    package let after: [UTF8Text]

    package init(part: ExportPart, after: [UTF8Text]) {
        self.part = part
        self.after = after
    }

    package static let start = ExportPosition(part: .installations, after: [])
}

/// Each row is read at one moment.
package struct ExportPage: Sendable {
    package let records: [TransferRecord]
    package let next: ExportPosition?
    /// The finished share of the part, from 0 to 1; nil if unknown.
    package let progress: Double?
}
