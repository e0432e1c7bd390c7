import Foundation
import RegistryClient

/// All activities that this process has seen, and what it has told of each: a value without I/O.
package struct ActivityLedger: Sendable {
    private var lines: [String: Line] = [:]
    private var localEnds: Set<String> = []
    private var lastLook = 0

    package init() {}

    private struct Line {
        /// When it was first seen on the screen. Those of one look have one number, for nobody knows which of them is older.
        var look: Int
        let liveactivityID: UTF8Text?
        var phase: ActivityPhase
        var token: Data?
    }

    /// The meaning of seeing an activity.
    package enum Sight: Sendable, Hashable {
        /// It runs, and was not seen before: it is to be followed.
        case isNew
        /// It is over, and was not seen before: its end is to be told, and it is never registered (C5).
        case isOver
        /// It was seen before: the list and the stream say the same (C2).
        case isKnown
    }

    /// Whether an activity was seen before.
    package func knows(_ id: String) -> Bool { lines[id] != nil }

    /// A new look: all that it finds has the same age. The first second is one look, for ActivityKit may list little by little.
    package mutating func beginLook(isLaunch: Bool) -> Int {
        if !isLaunch { lastLook += 1 }
        return lastLook
    }

    /// An activity was listed, or came in the stream.
    package mutating func see(_ id: String, liveactivityID: UTF8Text?, phase: ActivityPhase, look: Int) -> Sight {
        guard lines[id] == nil else { return .isKnown }
        lines[id] = Line(look: look, liveactivityID: liveactivityID, phase: phase)
        return phase.runs ? .isNew : .isOver
    }

    /// Whether a token is to be told: one that was not, of an activity that is not over (C2, C5).
    package mutating func takes(_ token: Data, of id: String) -> Bool {
        guard let line = lines[id], line.phase.runs, line.token != token else { return false }
        lines[id]?.token = token
        return true
    }

    /// The app itself ends an activity, so that its dismissal is not the user's.
    package mutating func endsHere(_ id: String) { localEnds.insert(id) }

    /// The state of an activity changed, or was looked at again.
    ///
    /// - Returns: its end, when this is the first that is heard of it (C6): the user's dismissal comes without an end before it.
    package mutating func end(by phase: ActivityPhase, of id: String) -> ActivityEnd? {
        guard let line = lines[id], line.phase.runs else { return nil }
        lines[id]?.phase = phase
        if line.phase == .pending, phase.isShown {
            let look = beginLook(isLaunch: false)
            lines[id]?.look = look
        }
        guard !phase.runs else { return nil }
        return phase == .dismissed && !localEnds.contains(id) ? .dismissal : .end
    }

    /// Shown activities that have the `liveactivityId` of a newer one (C8).
    package func olderOnes() -> [String] {
        let shown = lines.filter { id, line in
            line.phase.isShown && line.liveactivityID != nil && !localEnds.contains(id)
        }
        let groups = Dictionary(grouping: shown) { $0.value.liveactivityID }
        let older = groups.values.flatMap { group in
            let newest = group.map(\.value.look).max() ?? 0
            return group.filter { $0.value.look < newest }.map(\.key)
        }
        return older.sorted()
    }
}

/// How an activity ended.
package enum ActivityEnd: Sendable, Hashable {
    /// By the app, by a push, or by its age.
    case end
    /// By the user, who swiped it away.
    case dismissal
}
