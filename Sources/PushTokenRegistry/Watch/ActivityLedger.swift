import Foundation

/// All activities that this process has seen, with their reported facts: a value without I/O.
package struct ActivityLedger: Sendable {
    private var lines: [String: Line] = [:]
    private var ownEnds: Set<String> = []

    private struct Line {
        /// When it appeared on the screen. Of two activities with one time neither is known to be older.
        var shownAt = Duration.zero
        var liveactivityID: String?
        var needsToken = false
        var phase: ActivityPhase
        var token: Data?
    }

    package func knows(_ id: String) -> Bool { lines[id] != nil }
    package func runs(_ id: String) -> Bool { lines[id]?.phase.runs == true }

    /// ActivityKit listed an activity, or delivered it in the stream, for the first time.
    ///
    /// - Parameter uptime: one time for all activities of a launch, because ActivityKit may list them one by one.
    package mutating func see(
        _ activity: any SystemActivity,
        of type: any ActivityTypeAdapter,
        at uptime: Duration
    ) {
        lines[activity.id] = Line(
            shownAt: uptime,
            liveactivityID: type.endsDuplicates ? activity.aliases["liveactivityId"] : nil,
            needsToken: type.pushType == .token,
            phase: activity.phase
        )
    }

    /// Whether to report a token: it was not reported yet, and its activity is not over (C2, C5).
    package mutating func takes(_ token: Data, of id: String) -> Bool {
        guard let line = lines[id], line.phase.runs, line.token != token else { return false }
        lines[id]?.token = token
        return true
    }

    /// Whether a shown activity has not got its first token.
    package var isWaitingForToken: Bool {
        lines.values.contains { $0.phase.isShown && $0.needsToken && $0.token == nil }
    }

    /// The app ends an activity, so its dismissal is not the user's.
    package mutating func endsHere(_ id: String) { ownEnds.insert(id) }

    /// The log-out has reported an activity's end already.
    mutating func close(_ id: String) { lines[id] = Line(phase: .dismissed) }

    /// ActivityKit's longest time from an activity's start to its end.
    package static let longestLife = Duration.seconds(8 * 3600)

    /// The state of an activity changed, or was read again.
    ///
    /// - Parameter isOnScreen: the app has been active, so the user cannot have swiped the activity away.
    /// - Returns: its end, if this is the first sign of it (C6). A dismissal without an end before it is the user's, unless the app
    ///   ends the activity, the app is on the screen, or the activity is 8 hours old and iOS ended it.
    package mutating func end(
        by phase: ActivityPhase,
        of id: String,
        isOnScreen: Bool = false,
        at uptime: Duration = .zero
    ) -> Report? {
        guard let line = lines[id], line.phase.runs else { return nil }
        lines[id]?.phase = phase
        if line.phase == .pending, phase.isShown { lines[id]?.shownAt = uptime }
        guard !phase.runs else { return nil }
        let isOther = ownEnds.contains(id) || isOnScreen || uptime - line.shownAt >= Self.longestLife
        return .end(activityID: id, isDismissal: phase == .dismissed && !isOther)
    }

    /// Shown activities with the `liveactivityId` of a newer activity with a token (C8). Without a token the newer one
    /// could not be updated.
    package func duplicates() -> [String] {
        let shown = lines.filter { id, line in
            line.phase.isShown && line.liveactivityID != nil && !ownEnds.contains(id)
        }
        let groups = Dictionary(grouping: shown) { $0.value.liveactivityID }
        let older = groups.values.flatMap { group in
            let ready = group.filter { $0.value.token != nil || !$0.value.needsToken }
            let newest = ready.map(\.value.shownAt).max() ?? .zero
            return group.filter { $0.value.shownAt < newest }.map(\.key)
        }
        return older.sorted()
    }
}
