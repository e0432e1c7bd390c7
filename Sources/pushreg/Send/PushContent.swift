import Foundation
import RegistryCore

/// The content of a push, and how it is shown.
struct PushContent: Sendable {
    /// The effect on an activity that runs.
    enum Event: String, CaseIterable, Sendable {
        case update
        case end
    }

    let event: Event
    let priority: Int
    /// Nil only where an end leaves the last one.
    var state: JSONObject?
    var alert: JSONObject?
    var staleDate: Date?
    var dismissalDate: Date?

    init(event: Event, priority: Int) {
        self.event = event
        self.priority = priority
    }
}

/// The bodies of a run's pushes: the same content for all, and one time, so that no phone shows it as older than another.
struct PushPayloads: Sendable {
    /// For activities that run.
    let running: JSONValue
    /// For start tokens; nil when nothing is to be started.
    let start: JSONValue?

    /// APNs's limit for these push types, in bytes.
    static let mostBytes = 4096

    /// - Throws: a ``CommandFailure`` when one is larger than APNs takes.
    init(_ content: PushContent, _ start: ActivityStart?, at now: Date) throws(CommandFailure) {
        running = Self.payload(content.members(event: content.event.rawValue, at: now))
        self.start = start.map { start in
            let attributes: [(String, JSONValue)] = [
                ("attributes-type", .string(start.attributesType.rawValue.string)),
                ("attributes", .object(start.attributes)),
                // The phone is asked for the activity's token; without it some hand out none.
                ("input-push-token", 1),
            ]
            return Self.payload(content.members(event: "start", at: now) + attributes)
        }
        for payload in [running, self.start].compactMap(\.self) { try Self.check(payload) }
    }

    private static func payload(_ members: [(String, JSONValue)]) -> JSONValue { ["aps": .object(JSONObject(members))] }

    private static func check(_ payload: JSONValue) throws(CommandFailure) {
        let size = payload.jsonBytes.count
        guard size > mostBytes else { return }
        throw CommandFailure(
            .usage,
            "The payload has \(size) bytes, and APNs takes \(mostBytes). Make --content-state or --attributes smaller."
        )
    }
}

extension PushContent {
    fileprivate func members(event: String, at now: Date) -> [(String, JSONValue)] {
        let all: [(String, JSONValue?)] = [
            ("timestamp", .integer(now.wholeSeconds)), ("event", .string(event)),
            ("content-state", state.map { .object($0) }), ("alert", alert.map { .object($0) }),
            ("stale-date", staleDate.map { .integer($0.wholeSeconds) }),
            ("dismissal-date", dismissalDate.map { .integer($0.wholeSeconds) }),
        ]
        return all.compactMap { name, value in value.map { (name, $0) } }
    }
}
