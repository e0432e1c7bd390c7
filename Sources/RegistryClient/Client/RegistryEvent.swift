import Foundation

/// Something that the app's developer may want to know, or to tell the user. No event holds a token.
///
/// ```swift
/// for await event in registry.events {
///     if case .refused(let report, let code, let detail, _) = event { logger.error("\(report): \(code). \(detail)") }
/// }
/// ```
public enum RegistryEvent: Sendable, Hashable {
    /// The registry has taken a report.
    case registered(ReportName)
    /// The registry refused a report. `isKept`: it is tried again, for up to a day; otherwise it is settled.
    case refused(ReportName, code: String, detail: String, isKept: Bool)
    /// A report was given up without an answer.
    case dropped(ReportName, DropReason)
    /// Reports wait, since the oldest was observed.
    case waiting(count: Int, since: Date)
    /// The registry has not answered since then. The reports wait.
    case unreachable(since: Date)
    /// The file of waiting reports was not readable as ours. It was kept under another name, and a new one begun.
    case fileSetAside

    /// Why a report was given up.
    public enum DropReason: Sendable, Hashable {
        /// More than 500 waited, and it was the oldest.
        case outboxFull
    }

    /// The registry's word on a log-out; nil for all else.
    var isConfirmedLogOut: Bool? {
        switch self {
        case .registered(.logOut): true
        case .refused(.logOut, _, _, isKept: false): false
        default: nil
        }
    }

    static func refused(_ name: ReportName, _ problem: Problem, isKept: Bool) -> RegistryEvent {
        .refused(name, code: problem.code, detail: problem.detail ?? "", isKept: isKept)
    }
}
