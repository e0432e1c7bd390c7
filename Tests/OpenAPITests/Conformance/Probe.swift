import Foundation
import RegistryCore

/// A request to one operation and the answer that it must get.
struct Probe: Sendable, CustomStringConvertible {
    let operation: String
    let name: String
    let message: Message
    /// Sent before, each to be answered with a 2xx.
    private(set) var preparation: [Message] = []
    /// Nil where any documented answer will do.
    private(set) var status: Int?
    /// Members that the answer must have with these values.
    private(set) var members: JSONObject = [:]

    init(_ operation: String, _ name: String, _ message: Message) {
        self.operation = operation
        self.name = name
        self.message = message
    }

    var description: String { "\(operation), \(name)" }

    /// The same with requests that are sent before.
    func after(_ preparation: Message...) -> Probe {
        var probe = self
        probe.preparation = preparation
        return probe
    }

    /// The same with the answer that it must get.
    func gives(_ status: Int, _ members: JSONObject = [:]) -> Probe {
        var probe = self
        probe.status = status
        probe.members = members
        return probe
    }

    /// The same with the problem that it must get.
    func fails(_ code: Problem.Code, _ members: JSONObject = [:]) -> Probe {
        var probe = gives(code.status, members)
        probe.members["code"] = .string(code.rawValue)
        return probe
    }

    /// Whether it must succeed.
    var succeeds: Bool { status.map { $0 < 300 } ?? false }
}

/// Values for bodies.
enum Sample {
    /// A token of its own for each number.
    static func token(_ number: Int) -> JSONValue {
        .string(Hexadecimal.encode([UInt8](repeating: UInt8(truncatingIfNeeded: number), count: 80)))
    }

    /// A time some minutes before now; after it, where negative.
    static func minutesAgo(_ minutes: Double) -> JSONValue {
        .string(RFC3339.format(Date(timeIntervalSinceNow: -minutes * 60)))
    }

    /// Nine hours: longer than an activity lives.
    static let startedLongAgo: JSONObject = ["startedAt": minutesAgo(540)]

    /// A registration of a token that was observed some minutes ago.
    static func registration(_ token: Int, minutesAgo minutes: Double? = nil, _ more: JSONObject = [:]) -> JSONValue {
        var body: JSONObject = ["token": Sample.token(token)]
        if let minutes { body["observedAt"] = minutesAgo(minutes) }
        for member in more { body[member.key] = member.value }
        return .object(body)
    }

    /// 129 bytes.
    static let longID = String(repeating: "x", count: 129)
}
