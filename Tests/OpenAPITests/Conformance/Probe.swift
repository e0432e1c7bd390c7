import Foundation
import RegistryCore
import RegistryStore

/// A request to one operation and the answer that it must get.
struct Probe: Sendable, CustomStringConvertible {
    let operation: String
    let name: String
    let message: Message
    /// Sent before, each to be answered with a 2xx.
    private(set) var preparation: [Message] = []
    /// Nil where any documented answer will do.
    private(set) var status: Int?
    /// Values that the answer must have, by member or, with slashes, by JSON Pointer; null for none.
    ///
    /// The pointer into lines begins with the number of the line.
    private(set) var members: JSONObject = [:]
    /// Members that the answer must have with some value.
    private(set) var names: [String] = []
    /// Where the faults must be; nil where any will do.
    private(set) var pointers: Set<String>?

    init(_ operation: String, _ name: String, _ message: Message) {
        self.operation = operation
        self.name = name
        self.message = message
    }

    var description: String { "\(operation), \(name)" }

    func after(_ preparation: Message...) -> Probe {
        var probe = self
        probe.preparation = preparation
        return probe
    }

    func gives(_ status: Int, _ members: JSONObject = [:]) -> Probe {
        var probe = self
        probe.status = status
        probe.members = members
        return probe
    }

    func gives(_ members: JSONObject) -> Probe { gives(200, members) }

    func fails(_ code: Problem.Code, _ members: JSONObject = [:]) -> Probe {
        var probe = gives(code.status, members)
        probe.members["code"] = .string(code.rawValue)
        guard code == .clockSkew else { return probe }
        return probe.at("/observedAt").names("serverTime")
    }

    func at(_ pointers: String...) -> Probe {
        var probe = self
        probe.pointers = Set(pointers)
        return probe
    }

    func names(_ names: String...) -> Probe {
        var probe = self
        probe.names = names
        return probe
    }

    var succeeds: Bool { status.map { $0 < 300 } ?? false }
}

/// Values for bodies.
enum Sample {
    /// A token of its own for each number below 65,536.
    static func token(_ number: Int) -> JSONValue {
        let bytes = [UInt8(number >> 8), UInt8(number & 0xFF)]
        return .string(Hexadecimal.encode([[UInt8]](repeating: bytes, count: 40).flatMap { $0 }))
    }

    /// A time some minutes before now; after it, where negative.
    static func minutesAgo(_ minutes: Double) -> JSONValue {
        .string(RFC3339.format(Date(timeIntervalSinceNow: -minutes * 60)))
    }

    /// Nine hours: longer than an activity lives.
    static let startedLongAgo: JSONObject = ["startedAt": minutesAgo(540)]

    static func registration(_ token: Int, minutesAgo minutes: Double? = nil, _ more: JSONObject = [:]) -> JSONValue {
        var body: JSONObject = ["token": Sample.token(token)]
        if let minutes { body["observedAt"] = minutesAgo(minutes) }
        for member in more { body[member.key] = member.value }
        return .object(body)
    }

    static func hash(_ installation: String) -> String {
        InstallationHash(of: try! InstallationID(installation), in: try! BundleID(Message.bundleID)).description
    }

    /// 129 bytes.
    static let longID = String(repeating: "x", count: 129)
}
