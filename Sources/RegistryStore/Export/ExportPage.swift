import RegistryCore

/// The kinds of row that an export goes through, in its order.
public enum ExportPart: String, Sendable, Hashable, CaseIterable {
    case installations
    case activities
    /// Ends under a `liveactivityId`.
    case names
    case startTokens = "start-tokens"
    case deviceTokens = "device-tokens"

    /// The one that follows; nil after the last.
    var next: ExportPart? { Self.allCases.drop { $0 != self }.dropFirst().first }
}

/// How far an export has come.
public struct ExportPosition: Sendable, Hashable {
    public let part: ExportPart
    /// The key of the last row that was looked at; empty before the first.
    public let after: [String]

    public init(part: ExportPart, after: [String]) {
        self.part = part
        self.after = after
    }

    /// Before the first row.
    public static let start = ExportPosition(part: .installations, after: [])
}

/// A page of an export: all that is to be said of some rows, each read as it was at one moment.
public struct ExportPage: Sendable {
    public let records: [TransferRecord]
    /// Where the next page begins; nil after the last.
    public let next: ExportPosition?
    /// How much of the part is done, 0 to 1; nil where nobody knows.
    public let progress: Double?
}
