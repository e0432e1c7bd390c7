import RegistryCore
import RegistryStore
import TestSupport

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
        (self.operation, self.name, self.message) = (operation, name, message)
    }

    var description: String { "\(operation), \(name)" }
    func after(_ preparation: Message...) -> Probe { with { $0.preparation = preparation } }

    func gives(_ status: Int, _ members: JSONObject = [:]) -> Probe {
        with { ($0.status, $0.members) = (status, members) }
    }

    func gives(_ members: JSONObject) -> Probe { gives(200, members) }

    func fails(_ code: Problem.Code, _ members: JSONObject = [:]) -> Probe {
        let probe = gives(code.status, members).with { $0.members["code"] = .string(code.rawValue) }
        return code == .clockSkew ? probe.at("/observedAt").names("serverTime") : probe
    }

    func at(_ pointers: String...) -> Probe { at(pointers) }
    func at(_ pointers: [String]) -> Probe { with { $0.pointers = Set(pointers) } }
    func names(_ names: String...) -> Probe { with { $0.names = names } }

    private func with(_ change: (inout Probe) -> Void) -> Probe {
        var probe = self
        change(&probe)
        return probe
    }

    var succeeds: Bool { status.map { $0 < 300 } ?? false }
}

enum Sample {
    /// Nine hours ago: longer than an activity's lifetime.
    static let startedLongAgo: JSONObject = ["startedAt": .minutesAgo(540)]

    static func registration(_ token: Int, minutesAgo minutes: Double? = nil, _ more: JSONObject = [:]) -> JSONValue {
        var body: JSONObject = ["token": .token(token)]
        if let minutes { body["observedAt"] = .minutesAgo(minutes) }
        for member in more { body[member.key] = member.value }
        return .object(body)
    }

    static func hash(_ installation: String) -> String {
        InstallationHash(of: try! InstallationID(installation), in: try! BundleID(Message.bundleID)).description
    }

    /// 129 bytes.
    static let longID = String(repeating: "x", count: 129)
}
