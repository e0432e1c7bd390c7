import HTTPTypes
import RegistryCore

/// A mistake that a request to any operation can have.
enum Mistake: String, Sendable, CaseIterable {
    case badEscape
    case unknownEnvironment
    case unknownApp
    case anotherMethod
    case foreignHost
    case wrongCredentials
    case clientKey
    case auditorKey
    case foreignKey
    case noJSON
    case anotherMediaType
    case largeBody

    /// The request with the mistake in it.
    func made(in message: Message) -> Message {
        var message = message
        switch self {
        case .badEscape: message.target += (message.target.contains("?") ? "&" : "?") + "x=%zz"
        case .unknownEnvironment: message.target.replace("/sandbox", with: "/staging")
        case .unknownApp: message.target.replace(Message.bundleID, with: "com.example.none")
        case .anotherMethod: message.method = .patch
        case .foreignHost: message.authority = "registry.example.com"
        case .wrongCredentials: message.fields[.authorization] = "Bearer nonsense"
        case .clientKey: message = message.with(TestKeys.shared.key(.client))
        case .auditorKey: message = message.with(TestKeys.shared.key(.auditor))
        case .foreignKey: message = message.with(TestKeys.shared.foreign)
        case .noJSON: message.body = message.body.map { Array($0.dropLast()) }
        case .anotherMediaType: message.fields[.contentType] = "text/plain"
        case .largeBody: message.body = message.body.map { $0 + [UInt8](repeating: 0x20, count: 2_097_152) }
        }
        return message
    }
}

extension Probe {
    /// A request to each operation in which nothing is wrong; the first of the probes that succeed.
    static func sound(_ operation: String) -> Probe? {
        specific.first { $0.operation == operation && $0.succeeds }
    }

    /// The same with a mistake; any answer will do that is documented.
    func with(_ mistake: Mistake) -> Probe {
        Probe(operation, mistake.rawValue, mistake.made(in: message))
    }
}
