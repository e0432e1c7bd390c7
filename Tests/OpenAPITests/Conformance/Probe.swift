import Foundation
import RegistryCore
import RegistryStore

struct Probe: Sendable, CustomStringConvertible {
    let operation: String
    let name: String
    let message: Message
    /// Requests sent before; each must get a 2xx response.
    private(set) var preparation: [Message] = []
    /// Nil accepts any documented response.
    private(set) var status: Int?
    /// Values that the response must have, by member or, with slashes, by JSON Pointer; null for an absent member.
    ///
    /// In NDJSON, a pointer begins with the line's number.
    private(set) var members: JSONObject = [:]
    private(set) var names: [String] = []
    /// The expected pointers of errors; nil accepts any.
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

    func at(_ pointers: String...) -> Probe { at(pointers) }

    func at(_ pointers: [String]) -> Probe {
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

enum Sample {
    /// A distinct token for each number below 65,536.
    static func token(_ number: Int) -> JSONValue {
        let bytes = [UInt8(number >> 8), UInt8(number & 0xFF)]
        return .string(Hexadecimal.encode([[UInt8]](repeating: bytes, count: 40).flatMap { $0 }))
    }

    /// A time some minutes before now; negative for the future.
    static func minutesAgo(_ minutes: Double) -> JSONValue {
        .string(RFC3339.format(Date(timeIntervalSinceNow: -minutes * 60)))
    }

    /// Nine hours ago: longer than an activity's lifetime.
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
